#include "services/transformer/engine/speculation/draft_lengths.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace phyllo {

namespace {

constexpr double kLeastGain = 1.02;  // below it the estimates decide nothing

}  // namespace

int64_t ChooseDrafts(int64_t row_count, int64_t max_rows,
                     absl::FunctionRef<double(int64_t rows)> step_cost,
                     std::vector<DraftChance>& chances) {
  if (chances.empty()) return 0;
  std::stable_sort(chances.begin(), chances.end(), [](const DraftChance& a, const DraftChance& b) {
    return a.probability > b.probability;
  });
  double tokens = static_cast<double>(row_count);
  double best_rate = kLeastGain * tokens / step_cost(row_count);
  int64_t best_count = 0;
  const int64_t most = std::min(max_rows, static_cast<int64_t>(chances.size()));
  for (int64_t count = 1; count <= most; ++count) {
    tokens += chances[count - 1].probability;
    const double rate = tokens / step_cost(row_count + count);
    if (rate > best_rate) {
      best_rate = rate;
      best_count = count;
    }
  }
  return best_count;
}

int64_t ChooseDraftRounds(int64_t row_count, absl::Span<const DraftRun> runs,
                          double seconds_per_round,
                          absl::FunctionRef<double(int64_t rows)> step_cost) {
  double tokens = static_cast<double>(row_count);
  int64_t rows = row_count;
  double best_rate = kLeastGain * tokens / step_cost(rows);
  int64_t best_count = 0;
  for (int64_t count = 1;; ++count) {
    const int64_t rows_before = rows;
    for (const DraftRun& run : runs) {
      if (run.max_count < count) continue;
      ++rows;
      tokens += std::pow(run.acceptance, static_cast<double>(count));
    }
    if (rows == rows_before) return best_count;
    const double rate = tokens / (step_cost(rows) + static_cast<double>(count) * seconds_per_round);
    if (rate > best_rate) {
      best_rate = rate;
      best_count = count;
    }
  }
}

}  // namespace phyllo
