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
void SeeWhatCame(Sequence& sequence) {
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

// Of what the drafter was seen to take, by step in which it is too dear: so that it is tried again
// some day.
constexpr double kFading = 1.0 / 512;

// Weights are read once a step, whatever its rows; some sixteen rows take as long to multiply.
double GuessedCost(int64_t rows) { return 0.02 * (1.0 + static_cast<double>(rows) / 16.0); }

}  // namespace

Speculation::Speculation(SpeculationOptions options, const SequenceLimits& limits,
                         const StepCost* cost, int64_t max_rows, std::function<absl::Time()> now)
    : options_(std::move(options)),
      limits_(limits),
      cost_(cost),
      max_rows_(max_rows),
      now_(std::move(now)) {}

SpeculationMode Speculation::ModeOf(const Sequence& sequence) const {
  const std::optional<bool> enabled = sequence.request.speculation.enabled;
  if (!enabled) return options_.mode;
  return *enabled ? SpeculationMode::kOn : SpeculationMode::kOff;
}

bool Speculation::MayDraft(const Sequence& sequence) const {
  return ModeOf(sequence) == SpeculationMode::kOn || account_.allows_drafts();
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
  if (cost_ == nullptr) return GuessedCost(rows);
  // A row of a draft reads as many keys as the sampled token before it.
  const int64_t drafted = rows - plain_.row_count;
  const int64_t keys = plain_.decode_key_count / std::max<int64_t>(1, plain_.logits_row_count);
  StepShape shape = plain_;
  shape.row_count += drafted;
  shape.logits_row_count += drafted;
  shape.decode_key_count += drafted * keys;
  return cost_->Seconds(shape);
}

void Speculation::PredictFromDrafter() {
  if (options_.drafter == nullptr) return;
  tasks_.clear();
  asking_.clear();
  runs_.clear();
  for (Sequence* const sequence : decoding_) {
    SequenceDraft& draft = sequence->draft;
    if (!MayDraft(*sequence)) {
      if (draft.prediction.empty()) draft.acceptance.Fade(0);
      continue;
    }
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
  const int64_t rounds = ChooseDraftRounds(plain_.row_count, runs_, seconds_per_round_,
                                           [this](int64_t rows) { return StepSeconds(rows); });
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].max_count = std::min(tasks_[i].max_count, rounds);
    if (rounds == 0) asking_[i]->draft.acceptance.Fade(0);
  }
  if (rounds > 0) {
    RunDrafter();
  } else {
    seconds_per_round_ *= 1.0 - kFading;
  }
}

void Speculation::RunDrafter() {
  const absl::Time start = now_();
  const DraftWork work = options_.drafter->Draft(tasks_);
  drafter_time_ = now_() - start;
  for (Sequence* const sequence : asking_) CutPrediction(*sequence);
  if (work.round_count == 0) return;
  const double seconds = absl::ToDoubleSeconds(drafter_time_);
  const auto rounds = static_cast<double>(work.round_count);
  // A call that had to catch up, with a prompt above all, does not say what a round costs.
  constexpr int64_t kFewRows = 4;
  if (work.token_row_count <= kFewRows * static_cast<int64_t>(tasks_.size())) {
    constexpr double kWeight = 1.0 / 16;
    const bool known = seconds_per_round_ > 0.0;
    seconds_per_round_ += (known ? kWeight : 1.0) * (seconds / rounds - seconds_per_round_);
  }
}

void Speculation::AddChances(const Sequence& sequence, int64_t number) {
  if (!MayDraft(sequence)) return;
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

void Speculation::Propose(absl::Span<const std::unique_ptr<Sequence>> sequences,
                          int64_t max_prompt_rows) {
  decoding_.clear();
  chances_.clear();
  drafter_time_ = absl::ZeroDuration();
  asked_for_ = false;
  plain_ = {};
  int64_t prompt_rows = 0;
  for (const std::unique_ptr<Sequence>& sequence : sequences) {
    sequence->draft.Begin(0);
    if (!sequence->running || sequence->finished) continue;
    if (!Decodes(*sequence)) {
      prompt_rows += sequence->tokens_to_compute() - sequence->computed_count;
      continue;
    }
    ++plain_.logits_row_count;
    plain_.decode_key_count += sequence->computed_count + 1;
    if (ModeOf(*sequence) == SpeculationMode::kOff) continue;
    SeeWhatCame(*sequence);
    const int64_t max_count = MaxDraft(*sequence);
    if (max_count == 0) continue;
    sequence->draft.predicted_at = static_cast<int64_t>(sequence->token_ids.size());
    sequence->draft.match_length = 0;
    if (options_.ngrams) PredictFromNgrams(*sequence, max_count);
    decoding_.push_back(sequence.get());
    asked_for_ = asked_for_ || ModeOf(*sequence) == SpeculationMode::kOn;
  }
  if (decoding_.empty()) return;
  plain_.row_count = plain_.logits_row_count + std::min(prompt_rows, max_prompt_rows);
  PredictFromDrafter();
  for (size_t i = 0; i < decoding_.size(); ++i) AddChances(*decoding_[i], static_cast<int64_t>(i));
  const int64_t count = ChooseDrafts(
      plain_.row_count, max_rows_ - plain_.row_count,
      [this](int64_t rows) { return StepSeconds(rows); }, chances_);
  for (int64_t i = 0; i < count; ++i) {
    SequenceDraft& draft = decoding_[chances_[i].sequence]->draft;
    draft.tokens.push_back(draft.prediction[draft.tokens.size()]);
  }
}

void Speculation::Observe(const StepReport& step) {
  if (cost_ == nullptr || asked_for_ || step.duration <= absl::ZeroDuration()) return;
  const int64_t plain_rows = step.decode_row_count + step.prefill_row_count;
  StepShape plain = step.shape;
  plain.row_count = plain_rows;
  plain.logits_row_count -= step.drafted_row_count;
  if (step.drafted_row_count > 0) {
    plain.decode_key_count = plain.decode_key_count * step.decode_row_count /
                             (step.decode_row_count + step.drafted_row_count);
  }
  account_.Add({.seconds = absl::ToDoubleSeconds(step.duration),
                .plain_seconds = cost_->Seconds(plain),
                .plain_row_count = plain_rows,
                .drafted = step.drafted_row_count > 0 || drafter_time_ > absl::ZeroDuration(),
                .accepted_count = step.accepted_row_count});
}

}  // namespace phyllo
