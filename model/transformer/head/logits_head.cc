#include "model/transformer/head/logits_head.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/base/status_macros.h"
#include "model/ops/activation.h"
#include "model/transformer/decoder_layer.h"

namespace phyllo {

LogitsHead::LogitsHead(const DecoderDescription& description, const Options& options)
    : divisor_(description.logits_divisor),
      soft_cap_(description.logits_soft_cap),
      largest_(options.num_workers, std::vector<LargestLogit>(options.max_rows)) {}

absl::StatusOr<LogitsHead> LogitsHead::Create(const DecoderDescription& description,
                                              const Options& options, HugePageArena& arena) {
  LogitsHead head(description, options);
  const Precision precision = InputPrecision(options.precision);
  const int64_t cols = description.hidden_size;
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const data,
                          arena.Allocate(LinearInput::BytesFor(options.max_rows, cols, precision)));
  head.input_ = {.precision = precision, .data = data, .rows = options.max_rows, .cols = cols};
  return head;
}

void LogitsHead::Compute(const StepContext& step, const HeadWeights& weights,
                         absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                         absl::Span<LargestLogit> largest, MatrixView<float> logits) {
  const auto row_count = static_cast<int64_t>(rows.size());
  const LinearInput input = input_.SubRows(0, row_count);
  for (int64_t i = 0; i < row_count; ++i)
    ApplyNorm(step, weights.final_norm, hidden_states.SubRows(rows[i], 1), input.SubRows(i, 1));
  if (largest.empty() && divisor_ == 1.0f && soft_cap_ == 0.0f)
    return weights.lm_head->Forward(input, logits, step.pool, step.linear_scratch);
  largest_count_ = static_cast<int64_t>(largest.size());
  for (std::vector<LargestLogit>& of_worker : largest_)
    std::fill_n(of_worker.begin(), largest_count_, LargestLogit());
  weights.lm_head->ForwardTiles(
      input,
      [&](MatrixView<float> tile, int64_t row, int64_t column, int worker) {
        TakeTile(step, tile, row, column, worker, logits);
      },
      step.pool, step.linear_scratch);
  std::fill(largest.begin(), largest.end(), LargestLogit());
  for (const std::vector<LargestLogit>& of_worker : largest_) {
    for (int64_t i = 0; i < largest_count_; ++i) IncludeLargest(of_worker[i], largest[i]);
  }
}

void LogitsHead::TakeTile(const StepContext& step, MatrixView<float> tile, int64_t row,
                          int64_t column, int worker, MatrixView<float> logits) {
  if (divisor_ != 1.0f || soft_cap_ != 0.0f) SoftCapRows(step.kernels, divisor_, soft_cap_, tile);
  for (int64_t i = 0; i < tile.rows; ++i) {
    if (row + i < largest_count_) {
      IncludeLogits({tile.Row(i), static_cast<size_t>(tile.cols)}, static_cast<int32_t>(column),
                    largest_[worker][row + i]);
    } else {
      std::copy_n(tile.Row(i), tile.cols, logits.Row(row + i - largest_count_) + column);
    }
  }
}

}  // namespace phyllo
