// A generation_config.json.

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/check.h"
#include "model/config/generation_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view json(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<phyllo::GenerationConfig> config = phyllo::ParseGenerationConfig(json);
  if (!config.ok()) return 0;
  PHYLLO_CHECK(config->temperature.value_or(0.0) >= 0.0);
  PHYLLO_CHECK(config->top_p.value_or(1.0) <= 1.0);
  PHYLLO_CHECK(config->repetition_penalty.value_or(1.0) > 0.0);
  return 0;
}
