#include "model/config/generation_config.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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
constexpr size_t kMaxSequences = 1024;
constexpr size_t kMaxSequenceLength = 256;
constexpr double kMaxBias = 1000.0;

std::optional<int64_t> FirstId(ConfigReader& reader, absl::string_view key) {
  // -1 stands for "none" in some published files.
  const std::vector<int64_t> ids = reader.IntegerList(key, -1, kMaxTokenId);
  if (ids.empty() || ids.front() < 0) return std::nullopt;
  return ids.front();
}

// A list of token ids that a list of `key` holds; empty after an error.
std::vector<int64_t> ReadSequence(ConfigReader& reader, absl::string_view key,
                                  const nlohmann::json& value) {
  if (!value.is_array() || value.empty() || value.size() > kMaxSequenceLength) {
    reader.FailInvalid(
        absl::StrCat(key, " must hold lists of 1 to ", kMaxSequenceLength, " token ids"));
    return {};
  }
  std::vector<int64_t> ids;
  for (const nlohmann::json& id : value) {
    if (!id.is_number_integer() || !(id.get<double>() >= 0 && id.get<double>() <= kMaxTokenId)) {
      reader.FailInvalid(
          absl::StrCat(key, " must hold token ids in 0 .. ", kMaxTokenId, ", has ", id.dump()));
      return {};
    }
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

// The value of `key`, a list of at most 1024; null if it is absent or after an error.
const nlohmann::json* FindList(ConfigReader& reader, absl::string_view key) {
  if (!reader.Has(key)) return nullptr;
  const nlohmann::json& list = *reader.json().find(std::string(key));
  if (list.is_array() && list.size() <= kMaxSequences) return &list;
  reader.FailInvalid(absl::StrCat(key, " must be a list of at most ", kMaxSequences, " entries"));
  return nullptr;
}

void ReadBannedSequences(ConfigReader& reader, GenerationConfig& config) {
  const std::vector<int64_t>& eos = config.eos_token_id;
  if (const nlohmann::json* list = FindList(reader, "bad_words_ids")) {
    for (const nlohmann::json& entry : *list) {
      std::vector<int64_t> ids = ReadSequence(reader, "bad_words_ids", entry);
      const bool ends = ids.size() == 1 && std::find(eos.begin(), eos.end(), ids[0]) != eos.end();
      if (!ids.empty() && !ends) config.banned_token_sequences.push_back(std::move(ids));
    }
  }
  for (const int64_t id : reader.IntegerList("suppress_tokens", 0, kMaxTokenId))
    config.banned_token_sequences.push_back({id});
  if (config.banned_token_sequences.size() > kMaxSequences) {
    reader.FailInvalid(absl::StrCat("bad_words_ids and suppress_tokens have ",
                                    config.banned_token_sequences.size(),
                                    " entries together, must have at most ", kMaxSequences));
  }
}

// [[[id], bias], ...]: the form that the reference writes.
void ReadSequenceBias(ConfigReader& reader, GenerationConfig& config) {
  const nlohmann::json* list = FindList(reader, "sequence_bias");
  if (list == nullptr) return;
  for (const nlohmann::json& entry : *list) {
    if (!entry.is_array() || entry.size() != 2 || !entry[1].is_number()) {
      reader.FailInvalid("sequence_bias must hold pairs of a list of token ids and a number");
      return;
    }
    const std::vector<int64_t> ids = ReadSequence(reader, "sequence_bias", entry[0]);
    if (ids.empty()) return;
    const double bias = entry[1].get<double>();
    if (!(std::abs(bias) <= kMaxBias)) {
      reader.FailInvalid(
          absl::StrCat("sequence_bias must be in -", kMaxBias, " .. ", kMaxBias, ", is ", bias));
    }
    if (ids.size() > 1) {
      reader.FailUnsupported(absl::StrCat("a sequence_bias for ", ids.size(),
                                          " tokens, only single tokens are supported"));
    }
    config.logit_bias[ids[0]] = bias;
  }
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
  config.typical_p = reader.OptionalNumber("typical_p", 0.0, 1.0);
  config.no_repeat_ngram_size = reader.OptionalInteger("no_repeat_ngram_size", 0, kMaxTokens);
  config.max_new_tokens = reader.OptionalInteger("max_new_tokens", 1, kMaxTokens);
  config.bos_token_id = FirstId(reader, "bos_token_id");
  config.eos_token_id = reader.IntegerList("eos_token_id", 0, kMaxTokenId);
  config.pad_token_id = FirstId(reader, "pad_token_id");
  ReadBannedSequences(reader, config);
  ReadSequenceBias(reader, config);
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
