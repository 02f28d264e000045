// Small valid configs for tests, one of each model_type.
#ifndef PHYLLO_MODEL_CONFIG_TESTING_SMALL_CONFIG_H_
#define PHYLLO_MODEL_CONFIG_TESTING_SMALL_CONFIG_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/config/decoder_description.h"

namespace phyllo {

// Of Llama's keys: vocab_size 512, hidden_size 64, intermediate_size 160, 4 layers, 4 heads of 16
// and 2 key/value heads, 256 positions, SiLU, rope_theta 10000; and what the model_type needs
// beyond them. gpt2 has the same sizes under its own keys, 4 key/value heads and GELU. Members are
// replaced by those of `changes`; a null removes the member.
nlohmann::json SmallConfig(const std::string& model_type,
                           const nlohmann::json& changes = nlohmann::json::object());

// What ParseModelConfig makes of it.
absl::StatusOr<DecoderDescription> DescribeSmall(
    const std::string& model_type, const nlohmann::json& changes = nlohmann::json::object());

// The error of ParseModelConfig.
absl::Status SmallConfigError(const std::string& model_type,
                              const nlohmann::json& changes = nlohmann::json::object());

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_TESTING_SMALL_CONFIG_H_
