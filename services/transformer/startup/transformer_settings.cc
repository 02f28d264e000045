#include "services/transformer/startup/transformer_settings.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/gguf/model_files.h"
#include "model/packed_cache/packed_image.h"
#include "model/transformer/precision/model_precision.h"
#include "services/transformer/engine/speculation/sequence_draft.h"
#include "services/transformer/engine/speculation/speculation_options.h"

namespace phyllo {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 40;

// Also false for a value that is no number.
template <typename Number>
absl::Status CheckRange(absl::string_view flag, Number value, Number low, Number high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is ", value, ", must be in [", low, ", ", high, "]"));
}

struct Range {
  absl::string_view flag;
  int64_t value;
  int64_t low;
  int64_t high;
};

// The value that the word `text` stands for.
template <typename Value>
absl::StatusOr<Value> ParseAutoOnOff(absl::string_view flag, absl::string_view text,
                                     Value automatic, Value on, Value off) {
  if (text == "auto") return automatic;
  if (text == "on") return on;
  if (text == "off") return off;
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is \"", text, "\", must be auto, on or off"));
}

absl::StatusOr<SpeculationMode> ParseSpeculation(absl::string_view text) {
  return ParseAutoOnOff("speculation", text, SpeculationMode::kAuto, SpeculationMode::kOn,
                        SpeculationMode::kOff);
}

absl::StatusOr<ImageMemory> ParseShareWeights(absl::string_view text) {
  return ParseAutoOnOff("share_weights", text, ImageMemory::kAutomatic, ImageMemory::kShared,
                        ImageMemory::kPrivate);
}

std::optional<int64_t> IfPositive(int64_t value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

absl::Status CheckRanges(const TransformerSettings& settings) {
  const Range ranges[] = {
      {"threads", settings.threads, 0, 1024},
      {"max_batch_tokens", settings.max_batch_tokens, 1, 65536},
      {"max_prefill_tokens", settings.max_prefill_tokens, 1, settings.max_batch_tokens},
      {"max_sequences", settings.max_sequences, 1, settings.max_batch_tokens},
      {"max_queue_sequences", settings.max_queue_sequences, 0, kUnlimited},
      {"max_queue_tokens", settings.max_queue_tokens, 1, kUnlimited},
      {"max_sequence_length", settings.max_sequence_length, 0, int64_t{1} << 31},
      {"page_size", settings.page_size, 16, 128},
      {"kv_cache_bytes", settings.kv_cache_bytes, 0, kUnlimited},
      {"memory_bytes", settings.memory_bytes, 0, kUnlimited},
      {"max_request_bytes", settings.max_request_bytes, 0, kUnlimited},
      {"max_draft_tokens", settings.max_draft_tokens, 1, kMaxDraftTokens},
      {"max_unread_entries", settings.max_unread_entries, 1, kUnlimited},
  };
  for (const Range& range : ranges)
    PHYLLO_RETURN_IF_ERROR(CheckRange(range.flag, range.value, range.low, range.high));
  if (settings.page_size % 16 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--page_size is ", settings.page_size, ", must be a multiple of 16"));
  }
  return CheckRange("max_step_stretch", settings.max_step_stretch, 1.0, 1000.0);
}

}  // namespace

absl::Status CheckSettings(const TransformerSettings& settings) {
  if (settings.model.empty()) return absl::InvalidArgumentError("--model is required; try --help");
  PHYLLO_RETURN_IF_ERROR(CheckRanges(settings));
  PHYLLO_RETURN_IF_ERROR(ParsePrecisionChoice(settings.precision).status());
  PHYLLO_RETURN_IF_ERROR(ParseSpeculation(settings.speculation).status());
  PHYLLO_RETURN_IF_ERROR(ParseShareWeights(settings.share_weights).status());
  if (settings.draft_model.empty()) return absl::OkStatus();
  const absl::Status draft = ReadModelFile(settings.draft_model, "config.json").status();
  return draft.ok()
             ? draft
             : absl::Status(draft.code(), absl::StrCat("--draft_model is \"", settings.draft_model,
                                                       "\": ", draft.message()));
}

LocalStepModelOptions ModelOptionsFrom(const TransformerSettings& settings,
                                       const HostResources& host) {
  return {
      .model_folder = settings.model,
      .precision = *ParsePrecisionChoice(settings.precision),
      .num_threads = settings.threads > 0 ? static_cast<int>(settings.threads) : host.ThreadCount(),
      .pin_threads = settings.pin_threads,
      .max_rows = settings.max_batch_tokens,
      .page_size = settings.page_size,
      .kv_cache_bytes = IfPositive(settings.kv_cache_bytes),
      .memory_bytes = IfPositive(settings.memory_bytes).value_or(host.available_memory_bytes),
      .max_sequences = settings.max_sequences,
      .max_sequence_length = IfPositive(settings.max_sequence_length),
      .cache = {.packed_cache = settings.packed_cache,
                .verify_weights = settings.verify_weights,
                .image_memory = *ParseShareWeights(settings.share_weights)}};
}

EngineOptions EngineOptionsFrom(const TransformerSettings& settings) {
  return {.max_prefill_rows = settings.max_prefill_tokens,
          .max_step_stretch = settings.max_step_stretch,
          .max_sequences = settings.max_sequences,
          .max_queue_sequences = settings.max_queue_sequences,
          .max_queue_tokens = settings.max_queue_tokens,
          .max_unread_entries = settings.max_unread_entries,
          .max_rows_wait = settings.max_rows_wait,
          .max_sequence_length = IfPositive(settings.max_sequence_length),
          .prefix_cache = settings.prefix_cache,
          .speculation = {.mode = *ParseSpeculation(settings.speculation),
                          .max_draft_tokens = settings.max_draft_tokens}};
}

int64_t MaxRequestBytesFrom(const TransformerSettings& settings, int64_t memory_bytes) {
  return IfPositive(settings.max_request_bytes)
      .value_or(std::clamp<int64_t>(memory_bytes / 16, int64_t{64} << 20, int64_t{1} << 30));
}

}  // namespace phyllo
