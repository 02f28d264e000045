#include "model/sampling/philox.h"

#include <array>
#include <cstdint>
#include <set>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers published with the paper's reference implementation (Random123, kat_vectors).
TEST(PhiloxTest, EqualsKnownAnswerForZeros) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(PhiloxTest, EqualsKnownAnswerForOnes) {
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(PhiloxTest, EqualsKnownAnswerForDigitsOfPi) {
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(UniformDrawTest, IsTheTop53BitsOfTheFirstTwoWords) {
  // 0x6627e8d5e169c58d >> 11, divided by 2^53.
  EXPECT_EQ(UniformDraw(0, 0, 0),
            static_cast<double>(0x6627e8d5e169c58dull >> 11) / 9007199254740992.0);
}

TEST(UniformDrawTest, DiffersInSeedChoiceAndPosition) {
  std::set<double> draws;
  for (const uint64_t seed : {0ull, 1ull, 1ull << 32}) {
    for (const int32_t choice : {0, 1}) {
      for (const int64_t position : {0ll, 1ll, 1ll << 32})
        draws.insert(UniformDraw(seed, choice, position));
    }
  }
  EXPECT_EQ(draws.size(), 18u);
}

TEST(UniformDrawTest, IsUniformOverPositions) {
  // 10 bins, 100000 draws: a bin has mean 10000 and standard deviation 95; six of them are allowed.
  std::array<int, 10> bins{};
  for (int64_t position = 0; position < 100000; ++position) {
    const double u = UniformDraw(7, 0, position);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<int>(u * 10)];
  }
  for (const int count : bins) EXPECT_NEAR(count, 10000, 570);
}

}  // namespace
}  // namespace phyllo
