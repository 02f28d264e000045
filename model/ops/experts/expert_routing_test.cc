#include "model/ops/experts/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/ops/simd_kernels.h"
#include "model/ops/testing/op_test_data.h"
#include "model/tensor/dtype.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Routes {
  std::vector<int32_t> experts;  // [n, r]
  std::vector<float> weights;    // [n, r]
};

// The routes of logits [n, e].
Routes Route(const RoutingRule& rule, std::vector<float> logits, int64_t e,
             const SimdKernels& kernels = SimdKernels::ForThisCpu()) {
  const int64_t n = static_cast<int64_t>(logits.size()) / e;
  const int64_t r = rule.assignments_per_row();
  Routes routes = {std::vector<int32_t>(n * r, -1), std::vector<float>(n * r, kNan)};
  RouteRows(kernels, rule, {logits.data(), n, e, e}, {routes.experts.data(), n, r, r},
            {routes.weights.data(), n, r, r});
  return routes;
}

// The formula written down plainly, in double, for one row: sorts all experts.
void ReferenceRoute(const RoutingRule& rule, absl::Span<const float> logits,
                    std::vector<int32_t>& experts, std::vector<double>& weights) {
  std::vector<double> p(logits.begin(), logits.end());
  const double max = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& value : p) sum += value = std::exp(value - max);
  for (double& value : p) value /= sum;
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return p[a] > p[b]; });
  experts.assign(order.begin(), order.begin() + rule.num_experts_per_tok);
  weights.clear();
  double chosen = 0;
  for (const int32_t expert : experts) chosen += p[expert];
  for (const int32_t expert : experts)
    weights.push_back(rule.norm_topk_prob ? p[expert] / chosen : p[expert]);
  for (int64_t j = 0; j < rule.num_shared_experts; ++j) {
    experts.push_back(static_cast<int32_t>(p.size()) + static_cast<int32_t>(j));
    weights.push_back(1);
  }
}

TEST(RouteRowsTest, MatchesReference) {
  constexpr int64_t kRows = 50;
  for (const SimdLevel level : SupportedSimdLevels()) {
    for (const int64_t e : {1, 2, 4, 16, 61, 128}) {
      for (const int64_t k : {int64_t{1}, std::min<int64_t>(e, 3), e}) {
        for (const bool norm : {false, true}) {
          const RoutingRule rule = {
              .num_experts_per_tok = k, .norm_topk_prob = norm, .num_shared_experts = e % 3};
          const std::vector<float> logits = RandomFloats(kRows * e, static_cast<uint32_t>(e), 3.0f);
          const Routes routes = Route(rule, logits, e, SimdKernels(level));
          std::vector<int32_t> experts, all_experts;
          std::vector<double> weights, all_weights;
          for (int64_t i = 0; i < kRows; ++i) {
            ReferenceRoute(rule, absl::MakeConstSpan(logits).subspan(i * e, e), experts, weights);
            all_experts.insert(all_experts.end(), experts.begin(), experts.end());
            all_weights.insert(all_weights.end(), weights.begin(), weights.end());
          }
          ASSERT_EQ(routes.experts, all_experts) << e << " experts, top " << k;
          for (size_t a = 0; a < all_weights.size(); ++a) {
            // Softmax's bound (softmax_test.cc), twice when two are divided.
            ASSERT_NEAR(routes.weights[a], all_weights[a], 1.2e-5 * all_weights[a] + 1e-30);
          }
        }
      }
    }
  }
}

TEST(RouteRowsTest, ChoosesTheLowerNumberOnATie) {
  const RoutingRule rule = {.num_experts_per_tok = 3};
  EXPECT_THAT(Route(rule, {1, 2, 2, 1, 2, 1, 2}, 7).experts, ElementsAre(1, 2, 4));
  EXPECT_THAT(Route(rule, {0, 0, 0, 0, 0, 0, 0}, 7).experts, ElementsAre(0, 1, 2));
  EXPECT_THAT(Route(rule, {1, 1, 1, 1, 1, 1, 2}, 7).experts, ElementsAre(6, 0, 1));
}

TEST(RouteRowsTest, GivesTheOnlyExpertAWeightOfExactlyOneWhenNormalised) {
  const RoutingRule rule = {.num_experts_per_tok = 1, .norm_topk_prob = true};
  const Routes routes = Route(rule, RandomFloats(40 * 5, 1, 4.0f), 5);
  EXPECT_THAT(routes.weights, Each(1.0f));
}

TEST(RouteRowsTest, KeepsTheProbabilityOfAllExpertsWhenNotNormalised) {
  const RoutingRule rule = {.num_experts_per_tok = 2};
  EXPECT_THAT(Route(rule, {0, 0, 0, 0}, 4).weights, ElementsAre(0.25f, 0.25f));
}

TEST(RouteRowsTest, AddsSharedExpertsWithWeightOneBehindTheRouted) {
  const RoutingRule rule = {
      .num_experts_per_tok = 2, .norm_topk_prob = true, .num_shared_experts = 2};
  const Routes routes = Route(rule, {0, 3, 3}, 3);
  EXPECT_THAT(routes.experts, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(routes.weights, ElementsAre(0.5f, 0.5f, 1.0f, 1.0f));
}

TEST(RouteRowsTest, KeepsNanInItsRow) {
  const RoutingRule rule = {.num_experts_per_tok = 2, .norm_topk_prob = true};
  const Routes routes = Route(rule, {0, kNan, 5, 1, 0, 1, 0, 1}, 4);
  EXPECT_THAT(absl::MakeConstSpan(routes.experts).first(2), ElementsAre(0, 1));
  EXPECT_THAT(absl::MakeConstSpan(routes.weights).first(2), Each(IsNan()));
  EXPECT_THAT(absl::MakeConstSpan(routes.experts).last(2), ElementsAre(1, 3));
  EXPECT_THAT(absl::MakeConstSpan(routes.weights).last(2), Each(FloatNear(0.5f, 1e-6f)));
}

// Of experts [n * r] among `expert_count`.
struct Groups {
  std::vector<int32_t> slots;
  std::vector<int64_t> first_slot;
};
Groups Group(const std::vector<int32_t>& experts, int64_t expert_count) {
  Groups groups = {std::vector<int32_t>(experts.size(), -1),
                   std::vector<int64_t>(expert_count + 1, -1)};
  GroupByExpert(experts, absl::MakeSpan(groups.slots), absl::MakeSpan(groups.first_slot));
  return groups;
}

TEST(GroupByExpertTest, KeepsTheOrderOfRowsInsideAnExpert) {
  const Groups groups = Group({2, 0, 0, 2, 3, 2}, 4);
  EXPECT_THAT(groups.first_slot, ElementsAre(0, 2, 2, 5, 6));
  EXPECT_THAT(groups.slots, ElementsAre(2, 0, 1, 3, 5, 4));
}

TEST(GroupByExpertTest, GivesEmptyExpertsNoSlots) {
  EXPECT_THAT(Group({3, 3}, 6).first_slot, ElementsAre(0, 0, 0, 0, 2, 2, 2));
  EXPECT_THAT(Group({}, 2).first_slot, ElementsAre(0, 0, 0));
}

TEST(GroupByExpertTest, GivesAllSlotsToOneExpertWhenAllRowsGoToIt) {
  const Groups groups = Group(std::vector<int32_t>(100, 1), 3);
  EXPECT_THAT(groups.first_slot, ElementsAre(0, 0, 100, 100));
  std::vector<int32_t> ascending(100);
  std::iota(ascending.begin(), ascending.end(), 0);
  EXPECT_EQ(groups.slots, ascending);
}

TEST(GroupByExpertTest, SortsRandomAssignmentsStably) {
  constexpr int64_t kExperts = 17;
  std::mt19937 random(5);
  std::vector<int32_t> experts(1000);
  for (int32_t& expert : experts) expert = static_cast<int32_t>(random() % kExperts);
  std::vector<int32_t> order(experts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return experts[a] < experts[b]; });
  const Groups groups = Group(experts, kExperts);
  for (size_t slot = 0; slot < order.size(); ++slot) {
    ASSERT_EQ(groups.slots[order[slot]], static_cast<int32_t>(slot));
    const int32_t expert = experts[order[slot]];
    ASSERT_TRUE(groups.first_slot[expert] <= static_cast<int64_t>(slot) &&
                static_cast<int64_t>(slot) < groups.first_slot[expert + 1]);
  }
}

TEST(ScatterRowsTest, CopiesEachRowToItsSlotsRoundedAndPadded) {
  constexpr int64_t kCols = 37;
  const std::vector<float> x = RandomFloats(2 * kCols, 3);
  const std::vector<int32_t> slots = {3, 0, 1, 2};
  for (const SimdLevel level : SupportedSimdLevels()) {
    for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
      LinearInputBuffer out(4, kCols, precision);
      ScatterRows(SimdKernels(level), {x.data(), 2, kCols, kCols}, {slots.data(), 2, 2, 2},
                  out.view());
      for (int64_t slot = 0; slot < 4; ++slot) {
        const int64_t row = slot == 3 || slot == 0 ? 0 : 1;
        for (int64_t j = 0; j < out.view().stride(); ++j) {
          const float value = j < kCols ? x[row * kCols + j] : 0.0f;
          const float expected =
              precision == Precision::kF32 ? value : Bf16ToFloat(FloatToBf16(value));
          ASSERT_EQ(out.At(slot, j), expected) << slot << ", " << j;
        }
      }
    }
  }
}

TEST(ScatterRowsTest, QuantisesEachRowForAllItsSlots) {
  constexpr int64_t kCols = 37;
  const std::vector<float> x = RandomFloats(2 * kCols, 7);
  const std::vector<int32_t> slots = {3, 0, 1, 2};
  for (const SimdLevel level : SupportedSimdLevels()) {
    LinearInputBuffer out(4, kCols, Precision::kInt8);
    ScatterRows(SimdKernels(level), {x.data(), 2, kCols, kCols}, {slots.data(), 2, 2, 2},
                out.view());
    for (const int64_t slot : {0, 3}) ExpectRowOfBytes(out.view(), slot, &x[0]);
    for (const int64_t slot : {1, 2}) ExpectRowOfBytes(out.view(), slot, &x[kCols]);
  }
}

TEST(CombineRowsTest, AddsTheSlotsOfARowInOrder) {
  constexpr int64_t kRows = 7, kSlots = 21, kCols = 53, kPerRow = 3;
  const std::vector<float> x = RandomFloats(kSlots * kCols, 4);
  const std::vector<float> weights = RandomFloats(kRows * kPerRow, 5);
  const std::vector<float> before = RandomFloats(kRows * kCols, 6);
  std::vector<int32_t> slots(kSlots);
  for (int32_t a = 0; a < kSlots; ++a) slots[a] = (a * 8) % kSlots;
  for (const SimdLevel level : SupportedSimdLevels()) {
    for (const bool add : {false, true}) {
      std::vector<float> y = before;
      CombineRows(SimdKernels(level), {x.data(), kSlots, kCols, kCols},
                  {slots.data(), kRows, kPerRow, kPerRow},
                  {weights.data(), kRows, kPerRow, kPerRow}, add, {y.data(), kRows, kCols, kCols});
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t c = 0; c < kCols; ++c) {
          float sum = 0;
          for (int64_t j = 0; j < kPerRow; ++j) {
            sum = std::fma(x[slots[i * kPerRow + j] * kCols + c], weights[i * kPerRow + j], sum);
          }
          const float expected = add ? before[i * kCols + c] + sum : sum;
          ASSERT_EQ(y[i * kCols + c], expected) << i << ", " << c;
        }
      }
    }
  }
}

}  // namespace
}  // namespace phyllo
