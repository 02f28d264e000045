#include "model/ops/rope.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "model/ops/testing/op_test_data.h"
#include "model/ops/testing/reference_ops.h"

namespace phyllo {
namespace {

struct RopeShape {
  int64_t heads, head_dim, half;
};
constexpr RopeShape kShapes[] = {{4, 64, 32}, {3, 6, 3}, {2, 80, 20}, {1, 128, 64}, {5, 40, 20}};
constexpr int64_t kRows = 3;

// Tables of angles as positions would give them.
void FillTables(int64_t half, std::vector<float>& cos, std::vector<float>& sin) {
  for (int64_t i = 0; i < kRows * half; ++i) {
    cos.push_back(static_cast<float>(std::cos(0.37 * static_cast<double>(i))));
    sin.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i))));
  }
}

constexpr RopePairs kPairs[] = {RopePairs::kHalves, RopePairs::kInterleaved};

std::vector<float> Rotate(SimdLevel level, RopePairs pairs, const RopeShape& shape,
                          std::vector<float> x) {
  std::vector<float> cos, sin;
  FillTables(shape.half, cos, sin);
  const int64_t cols = shape.heads * shape.head_dim;
  ApplyRope(SimdKernels(level), pairs, {x.data(), kRows, cols, cols}, shape.head_dim,
            {cos.data(), kRows, shape.half, shape.half},
            {sin.data(), kRows, shape.half, shape.half});
  return x;
}

void ExpectMatchesReference(SimdLevel level, RopePairs pairs, const RopeShape& shape) {
  const std::vector<float> x = RandomFloats(kRows * shape.heads * shape.head_dim, 1);
  const std::vector<float> y = Rotate(level, pairs, shape, x);
  std::vector<float> cos, sin;
  FillTables(shape.half, cos, sin);
  for (int64_t h = 0; h < kRows * shape.heads; ++h) {
    const int64_t row = h / shape.heads;
    const std::vector<double> expected =
        ReferenceRope(pairs, Widen(&x[static_cast<size_t>(h * shape.head_dim)], shape.head_dim),
                      Widen(&cos[static_cast<size_t>(row * shape.half)], shape.half),
                      Widen(&sin[static_cast<size_t>(row * shape.half)], shape.half));
    // Two roundings of products of order 1.
    for (int64_t e = 0; e < shape.head_dim; ++e)
      ASSERT_NEAR(y[static_cast<size_t>(h * shape.head_dim + e)], expected[static_cast<size_t>(e)],
                  1e-6);
  }
}

TEST(ApplyRopeTest, MatchesReference) {
  for (SimdLevel level : SupportedSimdLevels()) {
    for (RopePairs pairs : kPairs) {
      for (const RopeShape& shape : kShapes) ExpectMatchesReference(level, pairs, shape);
    }
  }
}

TEST(ApplyRopeTest, LeavesElementsBehindTheRotatedOnesAlone) {
  const RopeShape shape = {2, 80, 20};
  const std::vector<float> x = RandomFloats(kRows * shape.heads * shape.head_dim, 2);
  for (RopePairs pairs : kPairs) {
    const std::vector<float> y = Rotate(DetectSimdLevel(), pairs, shape, x);
    for (size_t i = 0; i < x.size(); ++i) {
      if (i % 80 >= 40) {
        EXPECT_EQ(y[i], x[i]);
      }
    }
  }
}

TEST(ApplyRopeTest, GivesTheSameBitsWithBothInstructionSets) {
  if (SupportedSimdLevels().size() < 2) GTEST_SKIP() << "this CPU has no AVX-512";
  for (RopePairs pairs : kPairs) {
    for (const RopeShape& shape : kShapes) {
      const std::vector<float> x = RandomFloats(kRows * shape.heads * shape.head_dim, 3);
      EXPECT_EQ(Rotate(SimdLevel::kX86V3, pairs, shape, x),
                Rotate(SimdLevel::kX86V4, pairs, shape, x));
    }
  }
}

}  // namespace
}  // namespace phyllo
