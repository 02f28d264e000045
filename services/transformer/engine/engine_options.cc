#include "services/transformer/engine/engine_options.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "services/transformer/engine/scheduling/page_pools.h"
#include "services/transformer/engine/speculation/sequence_draft.h"

namespace phyllo {
namespace {

absl::Status CheckOption(absl::string_view name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, ", must be in [", low, ", ", high, "]"));
}

}  // namespace

absl::Status ValidateEngineOptions(const EngineOptions& options, const StepModelSizes& sizes) {
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_prefill_rows", options.max_prefill_rows, 1, sizes.max_rows));
  if (!(options.max_step_stretch >= 1.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_step_stretch is ", options.max_step_stretch, ", must be at least 1"));
  }
  PHYLLO_RETURN_IF_ERROR(CheckOption("max_sequences", options.max_sequences, 1, sizes.max_rows));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_queue_sequences", options.max_queue_sequences, 0, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(CheckOption("max_queue_tokens", options.max_queue_tokens, 1, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_unread_entries", options.max_unread_entries, 1, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_sequence_length", options.max_sequence_length.value_or(1), 1, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_encoding_elements", options.max_encoding_elements, 1, kUnlimited));
  PHYLLO_RETURN_IF_ERROR(
      CheckOption("max_draft_tokens", options.speculation.max_draft_tokens, 1, kMaxDraftTokens));
  return options.now != nullptr ? absl::OkStatus()
                                : absl::InvalidArgumentError("the engine needs a clock");
}

absl::StatusOr<SequenceLimits> LimitsOf(const StepModel& model, const EngineOptions& options) {
  const StepModelSizes& sizes = model.sizes();
  const int64_t cache_tokens = LongestSequence(model);
  SequenceLimits limits = {
      .vocab_size = sizes.vocab_size,
      .max_sequence_length = std::min(
          {sizes.max_positions, cache_tokens, options.max_sequence_length.value_or(cache_tokens)}),
      .eos_token_ids = options.eos_token_ids,
      .recompute_length = sizes.recompute_length};
  if (limits.max_sequence_length < 2) {
    return absl::InvalidArgumentError(absl::StrCat("the KV cache has room for ", cache_tokens,
                                                   " tokens, a sequence needs at least 2"));
  }
  return limits;
}

int64_t UnreadEntriesFor(const SequenceRequest& request, const EngineOptions& options) {
  if (!request.first_scored_index) return options.max_unread_entries;
  const int64_t entries_per_token =
      1 + request.prompt_logprobs.top_logprobs +
      static_cast<int64_t>(request.prompt_logprobs.logprob_token_ids.size());
  return std::max(options.max_unread_entries, 3 * options.max_prefill_rows * entries_per_token);
}

}  // namespace phyllo
