#include "services/transformer/engine/testing/fake_step_model.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr uint32_t kHashModulus = 1000003;  // fits a float exactly
constexpr uint32_t kPoisonHash = kHashModulus;

uint32_t Extend(uint32_t hash, int32_t token_id) {
  if (hash == kPoisonHash || token_id == FakeStepModel::kPoison) return kPoisonHash;
  return (hash * 4001u + static_cast<uint32_t>(token_id) + 1u) % kHashModulus;
}

void WriteLogits(uint32_t hash, float* logits) {
  uint64_t state = hash * 2862933555777941757ull + 3037000493ull;
  for (int64_t id = 0; id < FakeStepModel::kVocabSize; ++id) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    logits[id] = static_cast<float>(state >> 44) * 0x1.0p-17f;  // [0, 8)
  }
  logits[FakeStepModel::kPoison] =
      hash == kPoisonHash ? std::numeric_limits<float>::quiet_NaN() : -100.0f;
}

}  // namespace

FakeStepModel::FakeStepModel(int64_t page_count, int64_t page_size, int64_t max_rows,
                             int64_t max_logits_rows, int64_t max_positions)
    : sizes_{.hidden_size = 2,
             .vocab_size = kVocabSize,
             .max_rows = max_rows,
             .max_logits_rows = max_logits_rows,
             .max_positions = max_positions,
             .page_size = page_size} {
  AddGroup(page_count, std::nullopt);
}

FakeStepModel::FakeStepModel(const std::vector<int64_t>& page_counts, Windows windows,
                             int64_t page_size, int64_t max_rows)
    : sizes_{.hidden_size = 2,
             .vocab_size = kVocabSize,
             .max_rows = max_rows,
             .max_logits_rows = 4,
             .max_positions = 1000,
             .page_size = page_size} {
  for (size_t group = 0; group < windows.size(); ++group)
    AddGroup(page_counts[group], windows[group]);
}

void FakeStepModel::AddGroup(int64_t page_count, std::optional<int64_t> window) {
  auto group = std::make_unique<Group>();
  group->allocator.emplace(page_count);
  group->cached_tokens.assign(page_count * sizes_.page_size, -1);
  page_groups_.push_back({&*group->allocator, window});
  groups_.push_back(std::move(group));
}

std::vector<float> FakeStepModel::LogitsAfter(absl::Span<const int32_t> token_ids,
                                              const Windows& windows) {
  uint32_t hash = 0;
  const auto size = static_cast<int64_t>(token_ids.size());
  for (const std::optional<int64_t>& window : windows) {
    for (int64_t i = std::max<int64_t>(0, size - window.value_or(size)); i < size; ++i)
      hash = Extend(hash, token_ids[i]);
  }
  std::vector<float> logits(kVocabSize);
  WriteLogits(hash, logits.data());
  return logits;
}

std::vector<int32_t> FakeStepModel::GreedyContinuation(std::vector<int32_t> prompt, int64_t count,
                                                       const Windows& windows) {
  const size_t prompt_count = prompt.size();
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<float> logits = LogitsAfter(prompt, windows);
    prompt.push_back(
        static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
  }
  return {prompt.begin() + prompt_count, prompt.end()};
}

void FakeStepModel::CopyPage(int64_t group, int32_t source, int32_t target) {
  std::vector<int32_t>& tokens = groups_[group]->cached_tokens;
  std::copy_n(tokens.begin() + source * sizes_.page_size, sizes_.page_size,
              tokens.begin() + target * sizes_.page_size);
}

absl::StatusOr<uint32_t> FakeStepModel::HashAt(const SequencePages& pages, int64_t position) const {
  uint32_t hash = 0;
  for (size_t group = 0; group < groups_.size(); ++group) {
    const int64_t end = position + 1;
    const int64_t begin = std::max<int64_t>(0, end - page_groups_[group].window.value_or(end));
    for (int64_t i = begin; i < end; ++i) {
      const int32_t page_id = pages.table(group).page_ids()[i / sizes_.page_size];
      if (page_id < 0)
        return absl::InternalError(absl::StrCat("the page of position ", i, " was given back"));
      hash = Extend(
          hash, groups_[group]->cached_tokens[page_id * sizes_.page_size + i % sizes_.page_size]);
    }
  }
  return hash;
}

absl::Status FakeStepModel::Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                                  absl::Span<float> out) {
  for (size_t i = 0; i < token_ids.size(); ++i) {
    out[2 * i] = static_cast<float>(token_ids[i]);
    out[2 * i + 1] = static_cast<float>(first_position + static_cast<int64_t>(i));
  }
  return absl::OkStatus();
}

absl::Status FakeStepModel::Forward(absl::Span<const StepSlice> slices,
                                    MatrixView<float> hidden_states) {
  if (on_forward_ != nullptr) {
    if (absl::Status status = on_forward_(); !status.ok()) return status;
  }
  if (on_slices_ != nullptr) on_slices_(slices);
  steps_.emplace_back();
  int64_t next_row = 0;
  for (const StepSlice& slice : slices) {
    if (slice.row_begin != next_row) return absl::InternalError("rows are not contiguous");
    next_row += slice.row_count;
    steps_.back().push_back(slice.row_count);
    if (slice.pages->token_capacity() < slice.first_position + slice.row_count)
      return absl::InternalError("the page table has no room");
    for (int64_t i = 0; i < slice.row_count; ++i) {
      float* row = hidden_states.Row(slice.row_begin + i);
      const int64_t position = slice.first_position + i;
      if (row[1] != static_cast<float>(position))
        return absl::InternalError(absl::StrCat("position ", row[1], " instead of ", position));
      for (size_t group = 0; group < groups_.size(); ++group) {
        const int32_t page_id = slice.pages->table(group).page_ids()[position / sizes_.page_size];
        groups_[group]->cached_tokens[page_id * sizes_.page_size + position % sizes_.page_size] =
            static_cast<int32_t>(row[0]);
      }
      PHYLLO_ASSIGN_OR_RETURN(const uint32_t hash, HashAt(*slice.pages, position));
      row[0] = static_cast<float>(hash);
    }
  }
  if (next_row != hidden_states.rows || next_row > sizes_.max_rows)
    return absl::InternalError("wrong number of rows");
  return absl::OkStatus();
}

absl::Status FakeStepModel::ComputeLogits(absl::Span<const int64_t> rows,
                                          MatrixView<const float> hidden_states,
                                          absl::Span<LargestLogit> largest,
                                          MatrixView<float> logits) {
  if (static_cast<int64_t>(rows.size()) > sizes_.max_logits_rows)
    return absl::InternalError("too many logits rows");
  if (static_cast<int64_t>(rows.size() - largest.size()) != logits.rows)
    return absl::InternalError("the logits have no room for all rows but the largest ones'");
  std::vector<float> row(kVocabSize);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto hash = static_cast<uint32_t>(hidden_states.Row(rows[i])[0]);
    if (i >= largest.size()) {
      WriteLogits(hash, logits.Row(i - largest.size()));
      continue;
    }
    WriteLogits(hash, row.data());
    largest[i] = LargestLogit();
    IncludeLogits(row, /*first_token_id=*/0, largest[i]);
  }
  return absl::OkStatus();
}

std::vector<float> FakeStepModel::FinalHiddenState(absl::Span<const int32_t> token_ids) {
  uint32_t hash = 0;
  for (const int32_t token_id : token_ids) hash = Extend(hash, token_id);
  return {-100.0f * static_cast<float>(hash), static_cast<float>(token_ids.size() - 1)};
}

absl::Status FakeStepModel::ApplyFinalNorm(MatrixView<float> rows) {
  for (int64_t i = 0; i < rows.rows; ++i) {
    float* const row = rows.Row(i);
    row[0] = row[0] == static_cast<float>(kPoisonHash) ? std::numeric_limits<float>::quiet_NaN()
                                                       : -100.0f * row[0];
  }
  return absl::OkStatus();
}

absl::Status FakeStepModel::ApplyLabelHead(absl::Span<const float> hidden_state,
                                           absl::Span<float> logits) {
  if (sizes_.head != HeadKind::kLabels) return absl::InternalError("no label head");
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = hidden_state[0] + static_cast<float>(i) * hidden_state[1];
  return absl::OkStatus();
}

void FakeStepModel::ParallelFor(int64_t num_tasks,
                                absl::FunctionRef<void(int64_t task, int worker)> function) {
  for (int64_t task = num_tasks - 1; task >= 0; --task)
    function(task, 0);  // in an order nobody may rely on
}

}  // namespace phyllo
