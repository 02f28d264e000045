#include "model/config/generation_config.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/base/strict_json.h"
#include "model/config/model_config.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {
namespace {

constexpr absl::string_view kFileName = "generation_config.json";
constexpr int64_t kMaxTokenId = 1 << 28;
constexpr int64_t kMaxTokens = 1 << 30;

std::optional<int64_t> FirstId(ConfigReader& reader, absl::string_view key) {
  // -1 stands for "none" in some published files.
  const std::vector<int64_t> ids = reader.IntegerList(key, -1, kMaxTokenId);
  if (ids.empty() || ids.front() < 0) return std::nullopt;
  return ids.front();
}

}  // namespace

absl::StatusOr<GenerationConfig> ParseGenerationConfig(absl::string_view json) {
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(json, kFileName));
  absl::Status status;
  ConfigReader reader(object, kFileName, &status);
  GenerationConfig config;
  config.do_sample = reader.OptionalBool("do_sample");
  config.temperature = reader.OptionalNumber("temperature", 0.0, 1e6);
  config.top_k = reader.OptionalInteger("top_k", 0, kMaxTokenId);
  config.top_p = reader.OptionalNumber("top_p", 0.0, 1.0);
  config.min_p = reader.OptionalNumber("min_p", 0.0, 1.0);
  config.repetition_penalty = reader.OptionalNumber("repetition_penalty", 0.0, 1e6);
  if (config.repetition_penalty == 0.0)
    reader.FailInvalid("repetition_penalty must be over 0, is 0");
  config.max_new_tokens = reader.OptionalInteger("max_new_tokens", 1, kMaxTokens);
  config.bos_token_id = FirstId(reader, "bos_token_id");
  config.eos_token_id = reader.IntegerList("eos_token_id", 0, kMaxTokenId);
  config.pad_token_id = FirstId(reader, "pad_token_id");
  if (!status.ok()) return status;
  return config;
}

std::vector<int64_t> EndOfSequenceIds(const GenerationConfig& generation,
                                      const ModelConfig& config) {
  std::vector<int64_t> ids =
      generation.eos_token_id.empty() ? config.eos_token_id : generation.eos_token_id;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace phyllo
