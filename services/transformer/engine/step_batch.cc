#include "services/transformer/engine/step_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/base/status_macros.h"

namespace phyllo {

StepBatch::StepBatch(StepModel& model)
    : model_(model),
      hidden_states_(model.sizes().max_rows * model.sizes().hidden_size),
      logits_(model.sizes().max_logits_rows * model.sizes().vocab_size) {}

void StepBatch::Clear() {
  row_count_ = 0;
  slices_.clear();
  logits_rows_.clear();
}

absl::Status StepBatch::Add(Sequence& sequence, int64_t row_count) {
  const int64_t first = sequence.computed_count;
  const int64_t end = first + row_count;
  PHYLLO_RETURN_IF_ERROR(sequence.pages.Resize(end));
  const int64_t hidden_size = model_.sizes().hidden_size;
  const absl::Span<float> rows =
      absl::MakeSpan(hidden_states_).subspan(row_count_ * hidden_size, row_count * hidden_size);
  const int64_t prompt_rows = std::clamp<int64_t>(sequence.prompt_count() - first, 0, row_count);
  const auto embed = [&](absl::Span<const int32_t> token_ids, int64_t position) {
    if (token_ids.empty()) return absl::OkStatus();
    return model_.Embed(
        token_ids, position,
        rows.subspan((position - first) * hidden_size, token_ids.size() * hidden_size));
  };
  const auto size = static_cast<int64_t>(sequence.token_ids.size());
  const int64_t sampled_begin = first + prompt_rows;
  const int64_t sampled_count = std::max<int64_t>(0, std::min(end, size) - sampled_begin);
  PHYLLO_RETURN_IF_ERROR(
      embed(absl::MakeConstSpan(sequence.token_ids).subspan(sampled_begin, sampled_count),
            sampled_begin));
  sequence.draft.Begin(std::max<int64_t>(0, end - size));
  PHYLLO_RETURN_IF_ERROR(embed(sequence.draft.tokens, size));
  if (prompt_rows > 0) sequence.feed.Read(prompt_rows, rows.subspan(0, prompt_rows * hidden_size));

  slices_.push_back({.row_begin = row_count_,
                     .row_count = row_count,
                     .first_position = first,
                     .prompt_length = sequence.rope_length,
                     .pages = &sequence.pages});
  for (int64_t position = first; position < end; ++position) {
    const bool scored =
        position + 1 >= sequence.next_scored_index && position + 1 < sequence.prompt_count();
    const bool sampled = sequence.request.max_new_tokens > 0 && position + 1 >= size;
    if (scored || sampled)
      logits_rows_.push_back({&sequence, position, row_count_ + position - first});
  }
  row_count_ += row_count;
  return absl::OkStatus();
}

absl::Status StepBatch::Forward() {
  const int64_t hidden_size = model_.sizes().hidden_size;
  return model_.Forward(slices_, {hidden_states_.data(), row_count_, hidden_size, hidden_size});
}

MatrixView<float> StepBatch::SliceRows(int64_t index) {
  const int64_t hidden_size = model_.sizes().hidden_size;
  const StepSlice& slice = slices_[index];
  return {hidden_states_.data() + slice.row_begin * hidden_size, slice.row_count, hidden_size,
          hidden_size};
}

bool StepBatch::IsFinite(size_t slice, int64_t rejected_count) const {
  const int64_t hidden_size = model_.sizes().hidden_size;
  const int64_t row = slices_[slice].row_begin + slices_[slice].row_count - 1 - rejected_count;
  const absl::Span<const float> values =
      absl::MakeConstSpan(hidden_states_).subspan(row * hidden_size, hidden_size);
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

absl::Status StepBatch::VisitLogits(LogitsVisitor visit) {
  const int64_t hidden_size = model_.sizes().hidden_size;
  const int64_t vocab_size = model_.sizes().vocab_size;
  const auto total = static_cast<int64_t>(logits_rows_.size());
  for (int64_t begin = 0; begin < total; begin += model_.sizes().max_logits_rows) {
    const absl::Span<const LogitsRow> block =
        absl::MakeConstSpan(logits_rows_).subspan(begin, model_.sizes().max_logits_rows);
    row_indices_.clear();
    group_begins_.clear();
    for (int64_t i = 0; i < static_cast<int64_t>(block.size()); ++i) {
      if (i == 0 || block[i].sequence != block[i - 1].sequence) group_begins_.push_back(i);
      row_indices_.push_back(block[i].row);
    }
    group_begins_.push_back(block.size());
    PHYLLO_RETURN_IF_ERROR(model_.ComputeLogits(
        row_indices_, {hidden_states_.data(), row_count_, hidden_size, hidden_size},
        {logits_.data(), static_cast<int64_t>(block.size()), vocab_size, vocab_size}));
    model_.ParallelFor(static_cast<int64_t>(group_begins_.size()) - 1, [&](int64_t group,
                                                                           int worker) {
      for (int64_t i = group_begins_[group]; i < group_begins_[group + 1]; ++i) {
        visit(block[i], absl::MakeConstSpan(logits_).subspan(i * vocab_size, vocab_size), worker);
      }
    });
  }
  return absl::OkStatus();
}

}  // namespace phyllo
