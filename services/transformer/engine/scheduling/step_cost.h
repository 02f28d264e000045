// How long a step takes, from what it computes: measured at the start, corrected by every step.
//   StepCost cost(table);
//   const double seconds = cost.Seconds({.row_count = 40, .logits_row_count = 8});
//   cost.Observe(shape_of_the_step, duration);
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_STEP_COST_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_STEP_COST_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace phyllo {

// What a step computes, as far as its time depends on it. A key is read once for each row that
// attends to it: a row at position p reads p + 1 (windows are not taken into account).
struct StepShape {
  int64_t row_count = 0;         // of Forward
  int64_t logits_row_count = 0;  // of the LM head
  int64_t decode_key_count = 0;  // read by the rows of sequences that decode
  int64_t prompt_key_count = 0;  // read by the rows of prompts
};

// Keys that rows [first_position, first_position + row_count) of a sequence read.
constexpr int64_t KeysRead(int64_t first_position, int64_t row_count) {
  return row_count * (first_position + 1) + row_count * (row_count - 1) / 2;
}

// A time at a number of rows.
struct CostPoint {
  int64_t row_count = 0;
  double seconds = 0.0;
};

// A cost per row count, linear between the points and beyond them. It never falls: compute is not
// slower for having fewer rows.
class CostCurve {
 public:
  // Points in ascending order of row_count >= 1, at least one, with seconds > 0. What disturbs a
  // measurement only makes it longer: so a point is no dearer than any to its right.
  explicit CostCurve(std::vector<CostPoint> points);

  double Seconds(int64_t row_count) const;  // 0 for 0 rows

  // Multiplies Seconds(row_count) by about `factor`, through the points that it depends on, each
  // according to its weight in it. Points of more rows become at least as dear as those that get
  // dearer, and points of fewer at most as dear as those that get cheaper: what steps of one size
  // have shown is not hidden by sizes that never come.
  void Adjust(int64_t row_count, double factor);

  // How much of an error one more step of that size should correct: half of it the first time, a
  // third the second, and a tenth in the end.
  double Rate(int64_t row_count) const;

 private:
  // points_[index] has the weight `1 - fraction`, points_[index + 1] has `fraction`.
  struct Place {
    size_t index = 0;
    double fraction = 0.0;
  };
  Place Find(int64_t row_count) const;
  // The point that has most weight there.
  size_t Nearest(int64_t row_count) const;

  std::vector<CostPoint> points_;           // seconds do not fall
  std::vector<int64_t> adjustment_counts_;  // [points_] of which the point was the nearest
};

// What a StepCost begins with.
struct StepCostTable {
  std::vector<CostPoint> forward = {};  // Forward at short contexts; not empty
  std::vector<CostPoint> logits = {};   // LM head; empty: it costs nothing
  double seconds_per_key = 0.0;         // of attention, >= 0
};

// Thread-compatible.
class StepCost {
 public:
  // INVALID_ARGUMENT if the points are not as CostCurve wants them.
  static absl::StatusOr<StepCost> Create(const StepCostTable& table);

  // Of a step with at least one row.
  double Seconds(const StepShape& shape) const;

  // A step of that shape took `duration`: the parts of the cost share the error, those that
  // contribute more take more of it. One step moves the prediction by a tenth of the error, and by
  // a tenth at most: a single slow step changes little. But the first steps of a size move it by
  // more, as what was measured or guessed at the start may be far off.
  void Observe(const StepShape& shape, absl::Duration duration);

 private:
  StepCost(CostCurve forward, std::vector<CostCurve> logits, double seconds_per_key);

  // Of each part, in seconds.
  struct Parts {
    double forward = 0.0;
    double logits = 0.0;
    double decode_keys = 0.0;
    double prompt_keys = 0.0;
    double total() const { return forward + logits + decode_keys + prompt_keys; }
  };
  Parts PartsOf(const StepShape& shape) const;

  CostCurve forward_;
  std::vector<CostCurve> logits_;  // at most one
  double seconds_per_decode_key_;
  double seconds_per_prompt_key_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_STEP_COST_H_
