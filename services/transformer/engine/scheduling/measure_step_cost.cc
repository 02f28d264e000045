#include "services/transformer/engine/scheduling/measure_step_cost.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/kv_cache/page_allocator.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/logits_row.h"

namespace phyllo {
namespace {

constexpr double kLeastSeconds = 1e-9;  // of a clock that did not move
constexpr int64_t kRounds = 3;

// Runs single steps of one sequence. Owns its pages and rows.
class StepTimer {
 public:
  StepTimer(StepModel& model, const MeasureOptions& options, int64_t most_rows)
      : model_(model),
        options_(options),
        start_(options.now()),
        pages_(model.page_groups(), model.sizes().page_size),
        rows_(most_rows * model.sizes().hidden_size) {}

  // Whether there is time for something that takes `seconds`.
  bool HasTimeFor(double seconds) const {
    return options_.now() - start_ + absl::Seconds(seconds) <= options_.time_limit;
  }

  // Seconds of Forward of `row_count` rows from `first_position` on, whatever the pages hold.
  absl::StatusOr<double> TimeForward(int64_t row_count, int64_t first_position) {
    std::vector<int32_t> token_ids(row_count);
    for (int64_t i = 0; i < row_count; ++i)
      token_ids[i] = static_cast<int32_t>(i * 7919 % model_.sizes().vocab_size);
    const MatrixView<float> rows = FirstRows(row_count);
    PHYLLO_RETURN_IF_ERROR(pages_.Resize(first_position + row_count));
    PHYLLO_RETURN_IF_ERROR(model_.Embed(token_ids, first_position, {rows.data, Size(row_count)}));
    const StepSlice slice = {.row_begin = 0,
                             .row_count = row_count,
                             .first_position = first_position,
                             .prompt_length = first_position + row_count,
                             .pages = &pages_};
    const absl::Time begin = options_.now();
    PHYLLO_RETURN_IF_ERROR(model_.Forward({slice}, rows));
    const double seconds = SecondsSince(begin);
    pages_.Clear();
    return seconds;
  }

  // Seconds of ComputeLogits of the first `row_count` rows, of the largest logits only.
  absl::StatusOr<double> TimeLogits(int64_t row_count) {
    std::vector<int64_t> row_numbers(row_count);
    for (int64_t i = 0; i < row_count; ++i) row_numbers[i] = i;
    std::vector<LargestLogit> largest(row_count);
    const absl::Time begin = options_.now();
    PHYLLO_RETURN_IF_ERROR(model_.ComputeLogits(row_numbers, FirstRows(row_count),
                                                absl::MakeSpan(largest), /*logits=*/{}));
    return SecondsSince(begin);
  }

 private:
  size_t Size(int64_t row_count) const {
    return static_cast<size_t>(row_count * model_.sizes().hidden_size);
  }
  MatrixView<float> FirstRows(int64_t row_count) {
    const int64_t hidden_size = model_.sizes().hidden_size;
    return {rows_.data(), row_count, hidden_size, hidden_size};
  }
  double SecondsSince(absl::Time begin) const {
    return std::max(kLeastSeconds, absl::ToDoubleSeconds(options_.now() - begin));
  }

  StepModel& model_;
  const MeasureOptions& options_;
  const absl::Time start_;
  SequencePages pages_;
  std::vector<float> rows_;  // [most_rows, d]
};

// 1, 2, 4, 8 ... and `most` itself.
std::vector<int64_t> RowCountsUpTo(int64_t most) {
  std::vector<int64_t> row_counts;
  for (int64_t rows = 1; rows < most; rows *= 2) row_counts.push_back(rows);
  row_counts.push_back(most);
  return row_counts;
}

// Those first that say most where there is time for a few steps only.
std::vector<int64_t> InOrderOfUse(const std::vector<int64_t>& row_counts, int64_t always_measured) {
  std::vector<int64_t> order = {1, always_measured, 8, 128};
  std::erase_if(order, [&](int64_t row_count) {
    return std::find(row_counts.begin(), row_counts.end(), row_count) == row_counts.end();
  });
  for (const int64_t row_count : row_counts) {
    if (std::find(order.begin(), order.end(), row_count) == order.end()) order.push_back(row_count);
  }
  return order;
}

CostCurve CurveOf(const std::map<int64_t, double>& seconds_by_row_count) {
  std::vector<CostPoint> points;
  for (const auto& [row_count, seconds] : seconds_by_row_count)
    points.push_back({row_count, seconds});
  return CostCurve(std::move(points));
}

absl::StatusOr<std::vector<CostPoint>> MeasureForward(StepTimer& timer, int64_t most_rows) {
  const int64_t always_measured = std::min<int64_t>(32, most_rows);
  const std::vector<int64_t> row_counts = RowCountsUpTo(most_rows);
  std::map<int64_t, double> measured;  // the least seconds
  for (int64_t round = 0; round < kRounds; ++round) {
    for (const int64_t row_count : InOrderOfUse(row_counts, always_measured)) {
      const bool always = round == 0 && (row_count == 1 || row_count == always_measured);
      if (!always && !timer.HasTimeFor(CurveOf(measured).Seconds(row_count))) continue;
      PHYLLO_ASSIGN_OR_RETURN(const double seconds,
                              timer.TimeForward(row_count, /*first_position=*/0));
      double& least = measured.try_emplace(row_count, seconds).first->second;
      least = std::min(least, seconds);
    }
  }
  // A point where none was measured, too: steps will correct it.
  const CostCurve curve = CurveOf(measured);
  std::vector<CostPoint> points;
  for (const int64_t row_count : row_counts)
    points.push_back({row_count, curve.Seconds(row_count)});
  return points;
}

absl::StatusOr<std::vector<CostPoint>> MeasureLogits(StepModel& model, StepTimer& timer,
                                                     int64_t most_rows) {
  const int64_t most = std::min<int64_t>({16, model.sizes().max_logits_rows, most_rows});
  std::vector<CostPoint> points;
  for (const int64_t row_count : RowCountsUpTo(most)) {
    PHYLLO_ASSIGN_OR_RETURN(double seconds, timer.TimeLogits(row_count));
    if (timer.HasTimeFor(seconds)) {
      PHYLLO_ASSIGN_OR_RETURN(const double again, timer.TimeLogits(row_count));
      seconds = std::min(seconds, again);
    }
    points.push_back({row_count, seconds});
  }
  return points;
}

// What the rows of a step take longer when there are keys before them, by key and row.
absl::StatusOr<double> MeasureKey(StepTimer& timer, absl::Span<const CostPoint> forward,
                                  int64_t capacity) {
  constexpr int64_t kMostRows = 64;
  constexpr int64_t kMostKeys = 1024;
  const auto point = std::find_if(forward.rbegin(), forward.rend(), [&](const CostPoint& measured) {
    return measured.row_count <= kMostRows;
  });
  const int64_t key_count = std::min(kMostKeys, capacity - point->row_count);
  if (key_count <= 0 || !timer.HasTimeFor(3 * point->seconds)) return 0.0;
  PHYLLO_ASSIGN_OR_RETURN(const double first, timer.TimeForward(point->row_count, key_count));
  PHYLLO_ASSIGN_OR_RETURN(const double second, timer.TimeForward(point->row_count, key_count));
  return std::max(0.0, std::min(first, second) - point->seconds) /
         static_cast<double>(point->row_count * key_count);
}

}  // namespace

absl::StatusOr<StepCostTable> MeasureStepCost(StepModel& model, const MeasureOptions& options) {
  int64_t capacity = model.sizes().max_positions;
  for (const KvPageGroup& group : model.page_groups())
    capacity = std::min(capacity, group.allocator->page_count() * model.sizes().page_size);
  const int64_t most_rows = std::min(model.sizes().max_rows, capacity);
  StepTimer timer(model, options, most_rows);
  StepCostTable table;
  PHYLLO_ASSIGN_OR_RETURN(table.forward, MeasureForward(timer, most_rows));
  PHYLLO_ASSIGN_OR_RETURN(table.seconds_per_key, MeasureKey(timer, table.forward, capacity));
  if (model.sizes().head == HeadKind::kLmHead) {
    PHYLLO_ASSIGN_OR_RETURN(table.logits, MeasureLogits(model, timer, most_rows));
  }
  return table;
}

}  // namespace phyllo
