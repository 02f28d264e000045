// Invariants:
// - A state's pages hold keys and values of confirmed_count tokens and, behind them, of `guessed`.
// What lies behind these is written before it is read.
// - states_ does not grow while batch_ points into it.
#include "services/transformer/engine/speculation/model_drafter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

// The likeliest token if it is likely enough; the first of several.
std::optional<int32_t> Guess(absl::Span<const float> logits, double least_probability) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (!std::isfinite(*best)) return std::nullopt;
  // 1 / sum is the probability of the best; the many that are out of the question are left out.
  constexpr float kFar = 14.0f;
  double sum = 0.0;
  for (const float logit : logits) {
    if (logit > *best - kFar) sum += std::exp(logit - *best);
  }
  if (!(sum * least_probability <= 1.0)) return std::nullopt;
  return static_cast<int32_t>(best - logits.begin());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelDrafter>> ModelDrafter::Create(
    StepModel& model, const ModelDrafterOptions& options) {
  if (model.sizes().head != HeadKind::kLmHead)
    return absl::FailedPreconditionError("the draft model has no LM head");
  return std::unique_ptr<ModelDrafter>(new ModelDrafter(model, options));
}

ModelDrafter::ModelDrafter(StepModel& model, const ModelDrafterOptions& options)
    : model_(model),
      options_(options),
      hidden_states_(model.sizes().max_rows * model.sizes().hidden_size),
      logits_(model.sizes().max_logits_rows * model.sizes().vocab_size) {}

DraftWork ModelDrafter::Draft(absl::Span<const DraftTask> tasks) {
  DraftWork work;
  for (const DraftTask& task : tasks) FindOrMake(task);
  GatherTokens(tasks);
  for (const Row& row : batch_) work.token_row_count += row.row_count;
  while (!batch_.empty()) {
    ++work.round_count;
    if (!Step().ok()) {
      // Whatever it was: the pages are not what the states say, and guesses are never owed.
      for (const Row& row : batch_) {
        row.state->pages.Clear();
        row.state->confirmed_count = 0;
        row.state->guessed.clear();
      }
      return work;
    }
    GatherGuesses();
  }
  return work;
}

ModelDrafter::State* ModelDrafter::FindOrMake(const DraftTask& task) {
  const auto found = states_.find(task.id);
  if (found != states_.end()) return &found->second;
  return &states_
              .try_emplace(
                  task.id,
                  State{.pages = SequencePages(model_.page_groups(), model_.sizes().page_size),
                        .prompt_length = static_cast<int64_t>(task.token_ids.size()),
                        .guessed = {}})
              .first->second;
}

void ModelDrafter::Confirm(const DraftTask& task, State& state) {
  const auto size = static_cast<int64_t>(task.token_ids.size());
  for (const int32_t guess : state.guessed) {
    if (state.confirmed_count >= size || task.token_ids[state.confirmed_count] != guess) break;
    ++state.confirmed_count;
  }
  state.guessed.clear();
  // The last token is computed once more if need be: its row gives the first guess.
  state.confirmed_count = std::min(state.confirmed_count, size - 1);
  state.pages.ReleaseBefore(state.confirmed_count);
}

void ModelDrafter::GatherTokens(absl::Span<const DraftTask> tasks) {
  batch_.clear();
  int64_t rows_left = model_.sizes().max_rows;
  for (const DraftTask& task : tasks) {
    State& state = *FindOrMake(task);
    Confirm(task, state);
    const auto size = static_cast<int64_t>(task.token_ids.size());
    const int64_t missing = size - state.confirmed_count;
    const int64_t row_count = std::min(missing, rows_left);
    if (row_count == 0 || size + task.max_count > model_.sizes().max_positions) continue;
    const auto new_tokens = task.token_ids.subspan(state.confirmed_count, row_count);
    const bool known = std::all_of(new_tokens.begin(), new_tokens.end(), [&](int32_t id) {
      return id >= 0 && id < model_.sizes().vocab_size;
    });
    if (!known || !state.pages.Resize(state.confirmed_count + row_count).ok()) continue;
    rows_left -= row_count;
    batch_.push_back({&task, &state, row_count, row_count == missing});
  }
}

void ModelDrafter::GatherGuesses() {
  std::erase_if(batch_, [this](Row& row) {
    const std::vector<int32_t>& guesses = *row.task->tokens;
    if (!row.drafts || static_cast<int64_t>(guesses.size()) >= row.task->max_count) return true;
    row.state->guessed.push_back(guesses.back());
    row.row_count = 1;
    const int64_t end =
        row.state->confirmed_count + static_cast<int64_t>(row.state->guessed.size());
    if (row.state->pages.Resize(end).ok()) return false;
    row.state->guessed.pop_back();
    return true;
  });
}

absl::Status ModelDrafter::AddSlices() {
  const int64_t hidden_size = model_.sizes().hidden_size;
  slices_.clear();
  rows_.clear();
  row_owner_.clear();
  int64_t row_begin = 0;
  for (size_t i = 0; i < batch_.size(); ++i) {
    const Row& row = batch_[i];
    const bool guess = !row.state->guessed.empty();
    const int64_t first =
        row.state->confirmed_count +
        (guess ? static_cast<int64_t>(row.state->guessed.size()) - 1 : int64_t{0});
    const absl::Span<const int32_t> tokens =
        guess ? absl::MakeConstSpan(row.state->guessed).last(1)
              : row.task->token_ids.subspan(first, row.row_count);
    PHYLLO_RETURN_IF_ERROR(
        model_.Embed(tokens, first,
                     absl::MakeSpan(hidden_states_)
                         .subspan(row_begin * hidden_size, tokens.size() * hidden_size)));
    slices_.push_back({.row_begin = row_begin,
                       .row_count = row.row_count,
                       .first_position = first,
                       .prompt_length = row.state->prompt_length,
                       .pages = &row.state->pages});
    row_begin += row.row_count;
    if (!row.drafts) continue;
    rows_.push_back(row_begin - 1);
    row_owner_.push_back(i);
  }
  return absl::OkStatus();
}

absl::Status ModelDrafter::Step() {
  PHYLLO_RETURN_IF_ERROR(AddSlices());
  const int64_t hidden_size = model_.sizes().hidden_size;
  const int64_t row_count = slices_.back().row_begin + slices_.back().row_count;
  PHYLLO_RETURN_IF_ERROR(
      model_.Forward(slices_, {hidden_states_.data(), row_count, hidden_size, hidden_size}));
  for (Row& row : batch_) {
    if (row.state->guessed.empty()) row.state->confirmed_count += row.row_count;
  }
  return TakeGuesses();
}

absl::Status ModelDrafter::TakeGuesses() {
  const int64_t hidden_size = model_.sizes().hidden_size;
  const int64_t vocab_size = model_.sizes().vocab_size;
  const int64_t row_count = slices_.back().row_begin + slices_.back().row_count;
  const auto total = static_cast<int64_t>(rows_.size());
  for (int64_t begin = 0; begin < total; begin += model_.sizes().max_logits_rows) {
    const absl::Span<const int64_t> block =
        absl::MakeConstSpan(rows_).subspan(begin, model_.sizes().max_logits_rows);
    const auto block_size = static_cast<int64_t>(block.size());
    PHYLLO_RETURN_IF_ERROR(
        model_.ComputeLogits(block, {hidden_states_.data(), row_count, hidden_size, hidden_size},
                             /*largest=*/{}, {logits_.data(), block_size, vocab_size, vocab_size}));
    model_.ParallelFor(block_size, [&](int64_t i, int /*worker*/) {
      Row& row = batch_[row_owner_[begin + i]];
      const std::optional<int32_t> guess =
          Guess(absl::MakeConstSpan(logits_).subspan(i * vocab_size, vocab_size),
                options_.least_probability);
      row.drafts = guess.has_value();
      if (guess) row.task->tokens->push_back(*guess);
    });
  }
  return absl::OkStatus();
}

}  // namespace phyllo
