#include "services/transformer/engine/scheduling/measure_step_cost.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/transformer/engine/scheduling/page_pools.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

// A model whose steps take time on a clock of its own.
class MeasureStepCostTest : public ::testing::Test {
 protected:
  MeasureStepCostTest() : model_(/*page_count=*/64, /*page_size=*/4, /*max_rows=*/128) {
    model_.set_on_slices([this](absl::Span<const StepSlice> slices) {
      const auto rows = static_cast<double>(slices[0].row_count);
      const auto keys = rows * static_cast<double>(slices[0].first_position);
      now_ += fixed_ + rows * absl::Milliseconds(1) + keys * absl::Microseconds(2);
      if (--disturbed_step_ == 0) now_ += absl::Seconds(1);
      ++step_count_;
    });
  }

  StepCostTable Measure(absl::Duration time_limit) {
    absl::StatusOr<StepCostTable> table =
        MeasureStepCost(model_, {.time_limit = time_limit, .now = [this] { return now_; }});
    PHYLLO_EXPECT_OK(table);
    return *std::move(table);
  }

  FakeStepModel model_;
  absl::Time now_ = absl::UnixEpoch();
  absl::Duration fixed_ = absl::Milliseconds(10);
  int disturbed_step_ = 0;
  int step_count_ = 0;
};

TEST_F(MeasureStepCostTest, FindsRowsAndKeys) {
  const StepCostTable table = Measure(absl::Seconds(100));
  ASSERT_EQ(table.forward.size(), 8);
  for (const CostPoint& point : table.forward)
    EXPECT_NEAR(point.seconds, 0.01 + 0.001 * static_cast<double>(point.row_count), 1e-9);
  EXPECT_EQ(table.forward.front().row_count, 1);
  EXPECT_EQ(table.forward.back().row_count, 128);
  EXPECT_NEAR(table.seconds_per_key, 2e-6, 1e-9);
  EXPECT_EQ(FreePageCounts(model_)[0], 64) << "pages were kept";
}

TEST_F(MeasureStepCostTest, KeepsTheLeastOfSeveralTimes) {
  disturbed_step_ = 3;
  const StepCostTable table = Measure(absl::Seconds(100));
  for (const CostPoint& point : table.forward)
    EXPECT_NEAR(point.seconds, 0.01 + 0.001 * static_cast<double>(point.row_count), 1e-9);
}

TEST_F(MeasureStepCostTest, ExtrapolatesWhatTheTimeLimitLeavesOut) {
  const StepCostTable table = Measure(absl::Milliseconds(125));
  // 1, 32, 8, 2, 4 and 16 rows take 123 ms.
  EXPECT_EQ(step_count_, 6);
  ASSERT_EQ(table.forward.size(), 8);
  EXPECT_NEAR(table.forward.back().seconds, 0.138, 1e-6);
  EXPECT_LE(now_ - absl::UnixEpoch(), absl::Milliseconds(125));
}

TEST_F(MeasureStepCostTest, TakesTwoStepsOfAHugeModel) {
  fixed_ = absl::Seconds(30);
  const StepCostTable table = Measure(absl::Milliseconds(400));
  EXPECT_EQ(step_count_, 2);
  ASSERT_EQ(table.forward.size(), 8);
  EXPECT_NEAR(table.forward[4].seconds, 30.016, 1e-6);
  EXPECT_NEAR(table.forward.back().seconds, 30.128, 1e-6);
}

TEST_F(MeasureStepCostTest, ReturnsTheModelsError) {
  model_.set_on_forward([] { return absl::InternalError("broken"); });
  EXPECT_THAT(MeasureStepCost(model_, {.now = [this] { return now_; }}).status(),
              StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace phyllo
