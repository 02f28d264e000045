// Times a model's steps once, when it is loaded.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_MEASURE_STEP_COST_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_MEASURE_STEP_COST_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/transformer/engine/scheduling/step_cost.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

struct MeasureOptions {
  // No step is begun that would probably end after this time; but steps of 1 and of 32 rows are
  // always measured. What is left out lies on the line through its neighbours.
  absl::Duration time_limit = absl::Milliseconds(300);
  std::function<absl::Time()> now = nullptr;  // monotonic
};

// Runs steps of 1, 2, 4, 8, 16 ... rows, up to max_rows, the most telling first, in rounds, and
// keeps the least time of each, as whatever else the machine does only makes a step longer. All
// pages of the model must be free, and are free afterwards. The errors are the model's.
absl::StatusOr<StepCostTable> MeasureStepCost(StepModel& model, const MeasureOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_MEASURE_STEP_COST_H_
