#include "services/transformer/engine/scheduling/step_cost.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

TEST(CostCurveTest, IsLinearBetweenAndBeyondItsPoints) {
  const CostCurve curve({{1, 10.0}, {17, 26.0}, {33, 58.0}});
  EXPECT_DOUBLE_EQ(curve.Seconds(0), 0.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(1), 10.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(9), 18.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(25), 42.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(49), 90.0);
}

TEST(CostCurveTest, PointThatWasDisturbedCountsNoMoreThanTheNext) {
  const CostCurve curve({{1, 50.0}, {16, 20.0}, {32, 30.0}});
  EXPECT_DOUBLE_EQ(curve.Seconds(1), 20.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(8), 20.0);
  EXPECT_DOUBLE_EQ(curve.Seconds(32), 30.0);
}

TEST(CostCurveTest, AdjustMultipliesTheCostAtAPointAndBetweenTwo) {
  CostCurve curve({{1, 10.0}, {9, 18.0}, {17, 26.0}});
  curve.Adjust(9, 1.1);
  EXPECT_DOUBLE_EQ(curve.Seconds(9), 19.8);
  EXPECT_DOUBLE_EQ(curve.Seconds(1), 10.0);
  const double before = curve.Seconds(13);
  curve.Adjust(13, 1.1);
  EXPECT_NEAR(curve.Seconds(13), 1.1 * before, 1e-9);
}

TEST(CostCurveTest, WhatStepsShowIsNotHiddenBySizesThatNeverCome) {
  CostCurve rising({{1, 10.0}, {8, 11.0}, {16, 12.0}, {32, 13.0}});
  for (int i = 0; i < 10; ++i) rising.Adjust(8, 1.1);
  EXPECT_NEAR(rising.Seconds(8), 11.0 * std::pow(1.1, 10), 1e-9);
  EXPECT_DOUBLE_EQ(rising.Seconds(32), rising.Seconds(8));
  EXPECT_DOUBLE_EQ(rising.Seconds(1), 10.0);
  CostCurve falling({{1, 10.0}, {8, 11.0}, {16, 12.0}, {32, 13.0}});
  for (int i = 0; i < 10; ++i) falling.Adjust(8, 0.9);
  EXPECT_DOUBLE_EQ(falling.Seconds(1), falling.Seconds(8));
  EXPECT_DOUBLE_EQ(falling.Seconds(16), 12.0);
}

TEST(StepCostTest, AddsForwardLogitsAndKeys) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const StepCost cost,
      StepCost::Create(
          {.forward = {{1, 1.0}, {11, 2.0}}, .logits = {{1, 0.5}}, .seconds_per_key = 0.001}));
  EXPECT_DOUBLE_EQ(cost.Seconds({.row_count = 11,
                                 .logits_row_count = 1,
                                 .decode_key_count = 100,
                                 .prompt_key_count = 300}),
                   2.0 + 0.5 + 0.1 + 0.3);
}

TEST(StepCostTest, RefusesPointsOutOfOrderNamingThem) {
  EXPECT_THAT(StepCost::Create({.forward = {{8, 1.0}, {8, 2.0}}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(StepCost::Create({.forward = {{1, 0.0}}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(StepCost::Create({}).status(), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(StepCostTest, TheFirstStepsOfASizeMoveThePredictionByMore) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(StepCost cost,
                              StepCost::Create({.forward = {{1, 1.0}, {33, 2.0}, {65, 3.0}}}));
  cost.Observe({.row_count = 33}, absl::Seconds(6));
  EXPECT_NEAR(cost.Seconds({.row_count = 33}), 4.0, 1e-9);
  for (int i = 0; i < 3; ++i) cost.Observe({.row_count = 33}, absl::Seconds(6));
  EXPECT_GT(cost.Seconds({.row_count = 33}), 5.0);
  EXPECT_DOUBLE_EQ(cost.Seconds({.row_count = 1}), 1.0);
}

TEST(StepCostTest, OneObservationMovesThePredictionByATenthOfTheError) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(StepCost cost, StepCost::Create({.forward = {{1, 1.0}, {33, 2.0}},
                                                               .logits = {{1, 1.0}},
                                                               .seconds_per_key = 0.01}));
  const StepShape shape = {.row_count = 33, .logits_row_count = 1, .decode_key_count = 100};
  const double before = cost.Seconds(shape);
  for (int i = 0; i < 10; ++i) cost.Observe(shape, absl::Seconds(before));
  cost.Observe(shape, absl::Seconds(before * 1.5));
  EXPECT_NEAR(cost.Seconds(shape), before * 1.05, before * 1e-9);
  // However long one step hangs, it counts as twice the time.
  cost.Observe(shape, absl::Hours(1));
  EXPECT_NEAR(cost.Seconds(shape), before * 1.05 * 1.1, before * 1e-9);
}

TEST(StepCostTest, LearnsTheTrueCostOfSeveralShapesFromTheirSteps) {
  // The truth is a machine three times as slow, with attention that was not measured.
  const auto truth = [](const StepShape& shape) {
    return 0.03 + 0.003 * static_cast<double>(shape.row_count) +
           2e-6 * static_cast<double>(shape.decode_key_count + shape.prompt_key_count);
  };
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      StepCost cost,
      StepCost::Create({.forward = {{1, 0.01}, {32, 0.04}, {64, 0.08}}, .seconds_per_key = 5e-7}));
  const StepShape shapes[] = {
      {.row_count = 8, .decode_key_count = 800},
      {.row_count = 8, .decode_key_count = 16000},
      {.row_count = 64, .decode_key_count = 800, .prompt_key_count = 1600},
      {.row_count = 40, .decode_key_count = 8000, .prompt_key_count = 64000}};
  for (int i = 0; i < 2000; ++i) {
    const StepShape& shape = shapes[i % std::size(shapes)];
    cost.Observe(shape, absl::Seconds(truth(shape)));
  }
  for (const StepShape& shape : shapes)
    EXPECT_NEAR(cost.Seconds(shape) / truth(shape), 1.0, 0.05) << shape.row_count;
}

}  // namespace
}  // namespace phyllo
