// Invariants:
// - A sequence has a draft only while it decodes: all its tokens but the last are computed.
// - No token of a draft ends its sequence or moves it over a length at which its keys are computed
// anew: after all of them are accepted there is still a token to sample.
#include "services/transformer/engine/speculation/speculation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace phyllo {
namespace {

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool Decodes(const Sequence& sequence) {
  return sequence.running && !sequence.finished && sequence.request.max_new_tokens > 0 &&
         !sequence.request.encoding && sequence.generated_count() > 0 &&
         sequence.tokens_to_compute() == static_cast<int64_t>(sequence.token_ids.size()) &&
         sequence.tokens_to_compute() - sequence.computed_count == 1;
}

// What became of the last prediction.
void Observe(Sequence& sequence) {
  SequenceDraft& draft = sequence.draft;
  const auto size = static_cast<int64_t>(sequence.token_ids.size());
  for (size_t i = 0; i < draft.prediction.size(); ++i) {
    const auto offset = static_cast<int64_t>(i);
    if (draft.predicted_at + offset >= size) break;
    const bool right = sequence.token_ids[draft.predicted_at + offset] == draft.prediction[i];
    draft.acceptance.Observe(draft.match_length > 0 ? draft.match_length + offset : 0, right);
    if (!right) break;
  }
  draft.prediction.clear();
}

// Weights are read once a step, whatever its rows; some sixteen rows take as long to multiply.
double GuessedCost(int64_t rows) { return 0.02 * (1.0 + static_cast<double>(rows) / 16.0); }

}  // namespace

Speculation::Speculation(SpeculationOptions options, const SequenceLimits& limits, int64_t max_rows,
                         int64_t max_prefill_rows)
    : options_(std::move(options)),
      limits_(limits),
      max_rows_(max_rows),
      max_prefill_rows_(max_prefill_rows) {}

SpeculationMode Speculation::ModeOf(const Sequence& sequence) const {
  const std::optional<bool> enabled = sequence.request.speculation.enabled;
  if (!enabled) return options_.mode;
  return *enabled ? SpeculationMode::kOn : SpeculationMode::kOff;
}

int64_t Speculation::MaxDraft(const Sequence& sequence) const {
  const auto size = static_cast<int64_t>(sequence.token_ids.size());
  int64_t count = sequence.request.speculation.max_draft_tokens.value_or(options_.max_draft_tokens);
  // One token is sampled behind the last that is accepted.
  count = std::min({count, sequence.request.max_new_tokens - sequence.generated_count() - 1,
                    limits_.max_sequence_length - size - 1});
  if (limits_.recompute_length && sequence.rope_length < *limits_.recompute_length)
    count = std::min(count, *limits_.recompute_length - size - 1);
  return std::max<int64_t>(0, count);
}

void Speculation::PredictFromNgrams(Sequence& sequence, int64_t max_count) const {
  SequenceDraft& draft = sequence.draft;
  draft.index.Extend(sequence.token_ids);
  const NgramIndex::Match match = draft.index.Find(sequence.token_ids);
  draft.match_length = match.length;
  if (match.length == 0) return;
  NgramIndex::Continue(sequence.token_ids, match, max_count, draft.prediction);
  CutPrediction(sequence);
}

void Speculation::CutPrediction(Sequence& sequence) const {
  std::vector<int32_t>& prediction = sequence.draft.prediction;
  const auto end = std::find_if(prediction.begin(), prediction.end(), [&](int32_t id) {
    return id < 0 || id >= limits_.vocab_size ||
           (!sequence.request.ignore_eos && Contains(limits_.eos_token_ids, id)) ||
           Contains(sequence.request.sampling.stop_token_ids, id);
  });
  prediction.erase(end, prediction.end());
}

double Speculation::StepSeconds(int64_t rows) const {
  return options_.step_cost != nullptr ? options_.step_cost(rows) : GuessedCost(rows);
}

void Speculation::PredictFromDrafter(int64_t row_count) {
  if (options_.drafter == nullptr) return;
  tasks_.clear();
  asking_.clear();
  runs_.clear();
  for (Sequence* const sequence : decoding_) {
    SequenceDraft& draft = sequence->draft;
    if (!draft.prediction.empty()) {
      if (draft.acceptance.Expect(draft.match_length) >= draft.acceptance.Expect(0)) continue;
      // Not seen to be right or wrong.
      draft.acceptance.Fade(draft.match_length);
      draft.prediction.clear();
    }
    draft.match_length = 0;
    const int64_t max_count = MaxDraft(*sequence);
    tasks_.push_back({.id = sequence->id,
                      .token_ids = sequence->token_ids,
                      .max_count = max_count,
                      .tokens = &sequence->draft.prediction});
    asking_.push_back(sequence);
    const bool on = ModeOf(*sequence) == SpeculationMode::kOn;
    runs_.push_back({on ? 1.0 : sequence->draft.acceptance.Expect(0), max_count});
  }
  if (tasks_.empty()) return;
  const int64_t rounds = ChooseDraftRounds(row_count, runs_, seconds_per_round_,
                                           [this](int64_t rows) { return StepSeconds(rows); });
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].max_count = std::min(tasks_[i].max_count, rounds);
    if (rounds == 0) asking_[i]->draft.acceptance.Fade(0);
  }
  if (rounds > 0) RunDrafter();
}

void Speculation::RunDrafter() {
  const absl::Time start = options_.now != nullptr ? options_.now() : absl::InfinitePast();
  options_.drafter->Draft(tasks_);
  size_t rounds = 1;
  for (Sequence* const sequence : asking_) {
    rounds = std::max(rounds, sequence->draft.prediction.size());
    CutPrediction(*sequence);
  }
  if (options_.now == nullptr) return;
  // One call that had to catch up with a prompt must not say what a round costs.
  constexpr double kWeight = 1.0 / 16;
  const double seconds =
      absl::ToDoubleSeconds(options_.now() - start) / static_cast<double>(rounds);
  seconds_per_round_ +=
      kWeight * (std::min(seconds, 4 * seconds_per_round_ + 0.01) - seconds_per_round_);
}

void Speculation::AddChances(const Sequence& sequence, int64_t number) {
  const SequenceDraft& draft = sequence.draft;
  const bool on = ModeOf(sequence) == SpeculationMode::kOn;
  double probability = 1.0;
  for (size_t i = 0; i < draft.prediction.size(); ++i) {
    const int64_t length =
        draft.match_length > 0 ? draft.match_length + static_cast<int64_t>(i) : 0;
    if (!on) probability *= draft.acceptance.Expect(length);
    chances_.push_back({probability, number});
  }
}

void Speculation::Propose(absl::Span<const std::unique_ptr<Sequence>> sequences) {
  decoding_.clear();
  chances_.clear();
  int64_t decode_rows = 0;
  int64_t prefill_rows = 0;
  for (const std::unique_ptr<Sequence>& sequence : sequences) {
    sequence->draft.Begin(0);
    if (!sequence->running || sequence->finished) continue;
    if (!Decodes(*sequence)) {
      prefill_rows += sequence->tokens_to_compute() - sequence->computed_count;
      continue;
    }
    ++decode_rows;
    if (ModeOf(*sequence) == SpeculationMode::kOff) continue;
    Observe(*sequence);
    const int64_t max_count = MaxDraft(*sequence);
    if (max_count == 0) continue;
    sequence->draft.predicted_at = static_cast<int64_t>(sequence->token_ids.size());
    sequence->draft.match_length = 0;
    if (options_.ngrams) PredictFromNgrams(*sequence, max_count);
    decoding_.push_back(sequence.get());
  }
  const int64_t row_count = decode_rows + std::min(prefill_rows, max_prefill_rows_);
  PredictFromDrafter(row_count);
  for (size_t i = 0; i < decoding_.size(); ++i) AddChances(*decoding_[i], static_cast<int64_t>(i));
  const int64_t count = ChooseDrafts(
      row_count, max_rows_ - row_count, [this](int64_t rows) { return StepSeconds(rows); },
      chances_);
  for (int64_t i = 0; i < count; ++i) {
    SequenceDraft& draft = decoding_[chances_[i].sequence]->draft;
    draft.tokens.push_back(draft.prediction[draft.tokens.size()]);
  }
}

}  // namespace phyllo
