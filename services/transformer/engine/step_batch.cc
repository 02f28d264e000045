#include "services/transformer/engine/step_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/base/status_macros.h"
#include "model/sampling/sampler.h"

namespace phyllo {

StepBatch::StepBatch(StepModel& model)
    : model_(model),
      hidden_states_(model.sizes().max_rows * model.sizes().hidden_size),
      logits_(model.sizes().max_logits_rows * model.sizes().vocab_size),
      largest_(model.sizes().max_logits_rows) {}

void StepBatch::Clear() {
  row_count_ = 0;
  slices_.clear();
  logits_rows_.clear();
  largest_only_count_ = 0;
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
  AddLogitsRows(sequence, first, end, row_count_);
  row_count_ += row_count;
  return absl::OkStatus();
}

void StepBatch::AddLogitsRows(Sequence& sequence, int64_t first, int64_t end, int64_t row) {
  const auto size = static_cast<int64_t>(sequence.token_ids.size());
  const int64_t scored_end = sequence.prompt_count();
  const bool largest_only = sequence.next_scored_index >= scored_end &&
                            TakesLargest(sequence.request.sampling, sequence.history);
  for (int64_t position = first; position < end; ++position) {
    const bool scored = position + 1 >= sequence.next_scored_index && position + 1 < scored_end;
    const bool sampled = sequence.request.max_new_tokens > 0 && position + 1 >= size;
    if (!scored && !sampled) continue;
    const auto place =
        largest_only ? logits_rows_.begin() + largest_only_count_++ : logits_rows_.end();
    logits_rows_.insert(place, {&sequence, position, row + position - first, largest_only});
  }
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
  const int64_t max_rows = model_.sizes().max_logits_rows;
  for (int64_t begin = 0; begin < logits_row_count(); begin += max_rows) {
    const auto block = absl::MakeConstSpan(logits_rows_).subspan(begin, max_rows);
    const auto count = static_cast<int64_t>(block.size());
    const int64_t largest_count = std::clamp<int64_t>(largest_only_count_ - begin, 0, count);
    row_indices_.clear();
    for (const LogitsRow& row : block) row_indices_.push_back(row.row);
    PHYLLO_RETURN_IF_ERROR(model_.ComputeLogits(
        row_indices_, {hidden_states_.data(), row_count_, hidden_size, hidden_size},
        absl::MakeSpan(largest_).first(largest_count),
        {logits_.data(), count - largest_count, vocab_size, vocab_size}));
    VisitBlock(block, visit);
  }
  return absl::OkStatus();
}

void StepBatch::VisitBlock(absl::Span<const LogitsRow> block, LogitsVisitor visit) {
  const int64_t vocab_size = model_.sizes().vocab_size;
  group_begins_.clear();
  int64_t largest_count = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (i == 0 || block[i].sequence != block[i - 1].sequence)
      group_begins_.push_back(static_cast<int64_t>(i));
    if (block[i].largest_only) ++largest_count;
  }
  group_begins_.push_back(static_cast<int64_t>(block.size()));
  const auto logits_of = [&](int64_t i) {
    if (i < largest_count) return RowLogits{.all = {}, .largest = largest_[i]};
    return RowLogits{
        .all = absl::MakeConstSpan(logits_).subspan((i - largest_count) * vocab_size, vocab_size),
        .largest = {}};
  };
  model_.ParallelFor(static_cast<int64_t>(group_begins_.size()) - 1,
                     [&](int64_t group, int worker) {
                       for (int64_t i = group_begins_[group]; i < group_begins_[group + 1]; ++i)
                         visit(block[i], logits_of(i), worker);
                     });
}

}  // namespace phyllo
