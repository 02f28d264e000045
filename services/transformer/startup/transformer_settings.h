// What the flags of the transformer service say, checked before anything is loaded, and the options
// of its parts that follow from them.
//   PHYLLO_RETURN_IF_ERROR(CheckSettings(settings));
//   PHYLLO_ASSIGN_OR_RETURN(ModelOptions, ModelOptionsFrom(settings, DetectHostResources()));
#ifndef PHYLLO_SERVICES_TRANSFORMER_STARTUP_TRANSFORMER_SETTINGS_H_
#define PHYLLO_SERVICES_TRANSFORMER_STARTUP_TRANSFORMER_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/base/host_resources.h"
#include "services/transformer/engine/engine_options.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {

// A field for each flag that decides what is loaded or how it is computed, under the flag's name.
// main.cc says what they mean and gives their defaults. A plain value.
struct TransformerSettings {
  std::string model = {};
  std::string precision = {};
  std::string packed_cache = {};
  std::string share_weights = {};
  bool verify_weights = false;
  int64_t threads = 0;
  bool pin_threads = false;
  int64_t max_batch_tokens = 0;
  int64_t max_prefill_tokens = 0;
  double max_step_stretch = 0.0;
  int64_t max_sequences = 0;
  int64_t max_queue_sequences = 0;
  int64_t max_queue_tokens = 0;
  int64_t max_sequence_length = 0;
  int64_t page_size = 0;
  int64_t kv_cache_bytes = 0;
  int64_t memory_bytes = 0;
  int64_t max_request_bytes = 0;
  bool prefix_cache = false;
  std::string speculation = {};
  std::string draft_model = {};
  int64_t max_draft_tokens = 0;
  int64_t max_unread_entries = 0;
  absl::Duration max_rows_wait = absl::ZeroDuration();
};

// INVALID_ARGUMENT naming the flag, its value and what it may be; NOT_FOUND if there is no draft
// model. Loads nothing.
absl::Status CheckSettings(const TransformerSettings& settings);

// What the model is loaded with; memory_bytes is all that the process may use. The settings must
// have been checked.
LocalStepModelOptions ModelOptionsFrom(const TransformerSettings& settings,
                                       const HostResources& host);

// What the engine is made with, but for what depends on the model. The settings must have been
// checked.
EngineOptions EngineOptionsFrom(const TransformerSettings& settings);

// --max_request_bytes where it is left open: a 16th of the memory, within [64 MiB, 1 GiB].
int64_t MaxRequestBytesFrom(const TransformerSettings& settings, int64_t memory_bytes);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_STARTUP_TRANSFORMER_SETTINGS_H_
