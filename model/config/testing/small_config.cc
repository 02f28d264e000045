#include "model/config/testing/small_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/base/status_macros.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

Json Gpt2() {
  return {{"model_type", "gpt2"}, {"vocab_size", 512},
          {"n_embd", 64},         {"n_inner", 160},
          {"n_head", 4},          {"n_layer", 4},
          {"n_positions", 256},   {"layer_norm_epsilon", 1e-5}};
}

Json LlamaLike(const std::string& model_type) {
  return {{"model_type", model_type}, {"vocab_size", 512},      {"hidden_size", 64},
          {"intermediate_size", 160}, {"num_hidden_layers", 4}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"head_dim", 16},         {"max_position_embeddings", 256},
          {"rms_norm_eps", 1e-5},     {"hidden_act", "silu"},   {"rope_theta", 10000.0}};
}

// What a model_type needs beyond Llama's keys.
Json OwnKeys(const std::string& model_type) {
  if (model_type == "gpt_neox")
    return {{"num_key_value_heads", nullptr}, {"layer_norm_eps", 1e-5}, {"hidden_act", "gelu"}};
  if (model_type == "mixtral") return {{"num_local_experts", 4}, {"num_experts_per_tok", 2}};
  if (model_type == "qwen3_moe")
    return {{"num_experts", 8}, {"num_experts_per_tok", 3}, {"moe_intermediate_size", 40}};
  if (model_type == "minimind") return {{"num_experts", 4}, {"use_moe", false}};
  return Json::object();
}

}  // namespace

Json SmallConfig(const std::string& model_type, const Json& changes) {
  Json json = model_type == "gpt2" ? Gpt2() : LlamaLike(model_type);
  json.merge_patch(OwnKeys(model_type));
  json.merge_patch(changes);
  return json;
}

absl::StatusOr<DecoderDescription> DescribeSmall(const std::string& model_type,
                                                 const Json& changes) {
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config,
                          ParseModelConfig(SmallConfig(model_type, changes).dump()));
  return config.decoder;
}

absl::Status SmallConfigError(const std::string& model_type, const Json& changes) {
  return ParseModelConfig(SmallConfig(model_type, changes).dump()).status();
}

}  // namespace phyllo
