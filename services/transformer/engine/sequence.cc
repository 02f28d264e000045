#include "services/transformer/engine/sequence.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

bool Contains(const std::vector<int32_t>& ids, int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

absl::Status CheckTokenIds(absl::string_view name, const std::vector<int32_t>& token_ids,
                           int32_t least, int64_t vocab_size) {
  for (size_t i = 0; i < token_ids.size(); ++i) {
    if (token_ids[i] < least || token_ids[i] >= vocab_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, "[", i, "] is ", token_ids[i], ", must be in [", least, ", ", vocab_size, ")"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const SequenceRequest& request, const SequenceLimits& limits) {
  const auto prompt_count = static_cast<int64_t>(request.prompt_token_ids.size());
  const auto generated_count = static_cast<int64_t>(request.generated_token_ids.size());
  if (prompt_count == 0)
    return absl::InvalidArgumentError("the prompt has 0 tokens, must have at least 1");
  if (request.max_new_tokens < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_new_tokens is ", request.max_new_tokens, ", must be at least 0"));
  }
  if (generated_count > request.max_new_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("generated_token_ids has ", generated_count,
                                                   " tokens, max_new_tokens is only ",
                                                   request.max_new_tokens));
  }
  if (request.sampling.min_tokens > request.max_new_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("min_tokens is ", request.sampling.min_tokens,
                                                   ", must be at most max_new_tokens ",
                                                   request.max_new_tokens));
  }
  // A generated token is one more than the prompt.
  const int64_t needed =
      std::max(prompt_count + (request.max_new_tokens > 0 ? 1 : 0), prompt_count + generated_count);
  if (needed > limits.max_sequence_length) {
    return absl::InvalidArgumentError(
        absl::StrCat("the prompt has ", prompt_count, " tokens and needs room for ", needed,
                     "; a sequence here has at most ", limits.max_sequence_length));
  }
  if (request.first_scored_index &&
      (*request.first_scored_index < 1 || *request.first_scored_index > prompt_count)) {
    return absl::InvalidArgumentError(absl::StrCat("first_scored_index is ",
                                                   *request.first_scored_index, ", must be in [1, ",
                                                   prompt_count, "]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSequenceRequest(const SequenceRequest& request, const SequenceLimits& limits) {
  PHYLLO_RETURN_IF_ERROR(CheckLengths(request, limits));
  PHYLLO_RETURN_IF_ERROR(CheckTokenIds("prompt_token_ids", request.prompt_token_ids,
                                       request.prompt_is_hidden_states ? kNoTokenId : 0,
                                       limits.vocab_size));
  if (request.first_scored_index && Contains(request.prompt_token_ids, kNoTokenId)) {
    return absl::InvalidArgumentError(
        "a prompt without token ids cannot be scored: leave prompt_logprobs out");
  }
  PHYLLO_RETURN_IF_ERROR(
      CheckTokenIds("generated_token_ids", request.generated_token_ids, 0, limits.vocab_size));
  if (const int64_t count = request.speculation.max_draft_tokens.value_or(1);
      count < 1 || count > kMaxDraftTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_draft_tokens is ", count, ", must be in [1, ", kMaxDraftTokens, "]"));
  }
  if (request.time_limit && *request.time_limit <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "time_limit is ", absl::FormatDuration(*request.time_limit), ", must be greater than 0"));
  }
  SamplingParameters sampling = request.sampling;
  if (!request.ignore_eos) {
    sampling.stop_token_ids.insert(sampling.stop_token_ids.end(), limits.eos_token_ids.begin(),
                                   limits.eos_token_ids.end());
  }
  PHYLLO_RETURN_IF_ERROR(ValidateSamplingParameters(sampling, limits.vocab_size));
  return ValidateSamplingParameters(request.prompt_logprobs, limits.vocab_size);
}

namespace {

SequenceRequest WithEosBanned(SequenceRequest request, const SequenceLimits& limits) {
  if (!request.ignore_eos) {
    request.sampling.stop_token_ids.insert(request.sampling.stop_token_ids.end(),
                                           limits.eos_token_ids.begin(),
                                           limits.eos_token_ids.end());
  }
  return request;
}

}  // namespace

Sequence::Sequence(SequenceId sequence_id, SequenceRequest sequence_request,
                   std::shared_ptr<SequenceOutbox> sequence_outbox, const SequenceLimits& limits,
                   SequenceStorage storage)
    : id(sequence_id),
      request(WithEosBanned(std::move(sequence_request), limits)),
      outbox(std::move(sequence_outbox)),
      token_ids(request.prompt_token_ids),
      history(request.sampling.penalty_window),
      feed(std::move(storage.feed)),
      pages(std::move(storage.pages)),
      next_scored_index(request.first_scored_index.value_or(request.prompt_token_ids.size())),
      limits_(limits) {
  history.AddPrompt(request.prompt_token_ids);
  token_ids.reserve(std::min(limits.max_sequence_length, prompt_count() + request.max_new_tokens));
  for (const int32_t token_id : request.generated_token_ids) Append(token_id);
  rope_length = prompt_count();
  if (MustRecompute()) rope_length = *limits_.recompute_length;
}

SequenceSnapshot Sequence::Snapshot() const {
  const int64_t token_count = tokens_to_compute();
  const int64_t ready_count =
      feed.ready_count() < prompt_count() ? std::min(feed.ready_count(), token_count) : token_count;
  SequenceSnapshot snapshot = {.id = id,
                               .running = running,
                               .generates = request.max_new_tokens > 1,
                               .computed_count = computed_count,
                               .ready_count = ready_count,
                               .token_count = token_count,
                               .draft_count = static_cast<int64_t>(draft.tokens.size()),
                               .page_count = pages.page_count()};
  if (!running) {
    snapshot.computed_count = match.token_count;
    snapshot.page_count = (match.token_count + pages.page_size() - 1) / pages.page_size();
    snapshot.held = match.page_counts;
    snapshot.sole = match.free_counts;
    return snapshot;
  }
  for (int64_t group = 0; group < pages.group_count(); ++group)
    snapshot.held[group] = pages.table(group).held_count();
  return snapshot;
}

PageCounts Sequence::SolePageCounts() const {
  PageCounts counts = {};
  for (int64_t group = 0; group < pages.group_count(); ++group)
    counts[group] = pages.CountSole(group);
  return counts;
}

int64_t Sequence::tokens_to_compute() const {
  if (request.encoding) return prompt_count();
  if (HasOutgrownRope() && !MustRecompute()) return prompt_count() - 1;
  // The last prompt token is scored from the row before it; its own row is only needed to generate.
  return request.max_new_tokens > 0 ? static_cast<int64_t>(token_ids.size()) : prompt_count() - 1;
}

int64_t Sequence::first_needed_position() const {
  const int64_t last = prompt_count() - 1;
  if (request.encoding) return request.encoding->pooling == Pooling::kLast ? last : 0;
  // A token is scored from the row before it.
  return std::min(next_scored_index - 1, last);
}

std::optional<FinishReason> Sequence::Finished() const {
  if (request.encoding) {
    return computed_count >= prompt_count() ? std::optional(FinishReason::kEncoded) : std::nullopt;
  }
  if (request.max_new_tokens == 0) {
    return next_scored_index >= prompt_count() ? std::optional(FinishReason::kScored)
                                               : std::nullopt;
  }
  if (generated_count() > 0) {
    const int32_t last = token_ids.back();
    if (!request.ignore_eos && Contains(limits_.eos_token_ids, last)) return FinishReason::kEos;
    if (Contains(request.sampling.stop_token_ids, last)) return FinishReason::kStopToken;
  }
  if (generated_count() >= request.max_new_tokens) return FinishReason::kLength;
  if (static_cast<int64_t>(token_ids.size()) >= limits_.max_sequence_length)
    return FinishReason::kContextLimit;
  return std::nullopt;
}

void Sequence::Append(int32_t token_id) {
  token_ids.push_back(token_id);
  history.AddGenerated(token_id);
}

bool Sequence::HasOutgrownRope() const {
  return limits_.recompute_length && rope_length < *limits_.recompute_length &&
         static_cast<int64_t>(token_ids.size()) >= *limits_.recompute_length;
}

bool Sequence::MustRecompute() const {
  return HasOutgrownRope() && next_scored_index >= prompt_count();
}

void Sequence::Recompute() {
  LosePages();
  rope_length = *limits_.recompute_length;
}

void Sequence::Preempt() {
  LosePages();
  running = false;
  ++preemption_count;
}

void Sequence::LosePages() {
  pages.Clear();
  match = {};
  cached_count = 0;
  feed.Restart();
  rows_asked_time.reset();
  if (pooler) pooler->Restart();
  computed_count = 0;
}

SequenceResult Sequence::MakeResult() const {
  SequenceResult result;
  result.prompt_token_count = prompt_count();
  result.cached_prompt_token_count = cached_prompt_count;
  result.generated_token_count = generated_count();
  result.preemption_count = preemption_count;
  result.drafted_token_count = draft.total_drafted;
  result.accepted_token_count = draft.total_accepted;
  if (first_step_time) result.queue_time = *first_step_time - submit_time;
  if (first_step_time && first_token_time)
    result.prefill_time = *first_token_time - *first_step_time;
  if (first_token_time && last_token_time)
    result.decode_time = *last_token_time - *first_token_time;
  return result;
}

}  // namespace phyllo
