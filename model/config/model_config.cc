#include "model/config/model_config.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/base/strict_json.h"
#include "model/config/config_reader.h"
#include "model/config/rope_parameters_reader.h"
#include "model/tensor/dtype.h"

// Invariants: every key that this file does not name has no influence on what a supported model
// computes; a key that would have, and is not supported, is refused by name in RejectUnsupported.

namespace phyllo {
namespace {

constexpr absl::string_view kFileName = "config.json";
constexpr int64_t kMaxHiddenSize = 1 << 20;
constexpr int64_t kMaxIntermediateSize = 1 << 22;
constexpr int64_t kMaxHeads = 1 << 16;
constexpr int64_t kMaxHeadElements = 1 << 22;  // num_attention_heads * head_dim
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxVocabSize = 1 << 28;
constexpr int64_t kMaxPositions = 1 << 30;

// What differs between model types before any other key is read.
struct ModelTypeInfo {
  absl::string_view model_type;
  ModelFamily family;                    // for minimind: of its third generation
  absl::string_view architecture;        // the class that has an LM head
  absl::string_view older_architecture;  // an earlier spelling, or empty
  bool
      tie_word_embeddings;  // if the file does not say: the default of the reference's config class
};

constexpr ModelTypeInfo kModelTypes[] = {
    {"gpt2", ModelFamily::kGpt2, "GPT2LMHeadModel", "", true},
    {"llama", ModelFamily::kLlama, "LlamaForCausalLM", "LLaMAForCausalLM", false},
    {"minimind", ModelFamily::kMinimind3, "MiniMindForCausalLM", "", true},
    {"qwen2", ModelFamily::kQwen2, "Qwen2ForCausalLM", "", false},
    {"qwen3", ModelFamily::kQwen3, "Qwen3ForCausalLM", "", false},
};

std::string SupportedModelTypes() {
  return absl::StrJoin(kModelTypes, ", ", [](std::string* out, const ModelTypeInfo& info) {
    absl::StrAppend(out, info.model_type);
  });
}

const ModelTypeInfo* FindModelType(ConfigReader& reader, ModelConfig& config) {
  const std::optional<std::string> model_type = reader.OptionalString("model_type");
  config.architectures = reader.StringList("architectures");
  if (!model_type.has_value()) {
    reader.FailInvalid("model_type is missing");
    return nullptr;
  }
  config.model_type = *model_type;
  for (const ModelTypeInfo& info : kModelTypes) {
    if (info.model_type != *model_type) continue;
    for (const std::string& architecture : config.architectures) {
      if (architecture != info.architecture &&
          (architecture != info.older_architecture || architecture.empty())) {
        reader.FailUnsupported(absl::StrCat("architecture \"", architecture,
                                            "\" is not supported; of model_type \"", *model_type,
                                            "\" it is ", info.architecture));
      }
    }
    return &info;
  }
  reader.FailUnsupported(absl::StrCat(
      "model_type \"", *model_type, "\" is not supported (architectures: ",
      absl::StrJoin(config.architectures, ", "), "); supported: ", SupportedModelTypes()));
  return nullptr;
}

// Options of any family that change what is computed.
void RejectUnsupported(ConfigReader& reader, int64_t num_hidden_layers) {
  for (const absl::string_view key : {"quantization_config", "compression_config"}) {
    if (reader.Has(key))
      reader.FailUnsupported(absl::StrCat(key, ": quantized checkpoints are not supported"));
  }
  for (const absl::string_view key :
       {"use_sliding_window", "use_moe", "is_encoder_decoder", "add_cross_attention"}) {
    if (reader.OptionalBool(key).value_or(false))
      reader.FailUnsupported(absl::StrCat(key, " true is not supported"));
  }
  for (const absl::string_view key :
       {"attn_logit_softcapping", "final_logit_softcapping", "no_rope_layers", "mlp_only_layers"}) {
    if (reader.Has(key)) reader.FailUnsupported(absl::StrCat(key, " is not supported"));
  }
  const std::vector<std::string> layer_types = reader.StringList("layer_types");
  for (const std::string& type : layer_types) {
    if (type != "full_attention")
      reader.FailUnsupported(absl::StrCat("layer_types \"", type, "\" is not supported"));
  }
  const int64_t count = static_cast<int64_t>(layer_types.size());
  if (count != 0 && count != num_hidden_layers) {
    reader.FailInvalid(absl::StrCat("layer_types has ", count, " entries, num_hidden_layers is ",
                                    num_hidden_layers));
  }
}

std::optional<DType> ReadDType(ConfigReader& reader) {
  const std::optional<std::string> v5 = reader.OptionalString("dtype");
  const std::optional<std::string> v4 = reader.OptionalString("torch_dtype");
  if (v5.has_value() && v4.has_value() && *v5 != *v4) {
    reader.FailInvalid(absl::StrCat("dtype and torch_dtype differ, are ", *v5, " and ", *v4));
  }
  const std::string name = v5.has_value() ? *v5 : v4.value_or("");
  if (name == "float32") return DType::kF32;
  if (name == "float16") return DType::kF16;
  if (name == "bfloat16") return DType::kBf16;
  if (name == "float64") return DType::kF64;
  return std::nullopt;
}

void ReadTokenIds(ConfigReader& reader, ModelConfig& config) {
  // Some published files have -1, or an id past the vocabulary, for tokens that they never use.
  const auto optional_id = [&reader](absl::string_view key) -> std::optional<int64_t> {
    const std::vector<int64_t> ids = reader.IntegerList(key, -1, kMaxVocabSize);
    if (ids.empty() || ids.front() < 0) return std::nullopt;
    return ids.front();
  };
  config.bos_token_id = optional_id("bos_token_id");
  config.pad_token_id = optional_id("pad_token_id");
  config.eos_token_id = reader.IntegerList("eos_token_id", 0, config.vocab_size - 1);
}

// num_key_value_heads and head_dim, and all that heads must satisfy.
void ReadHeads(ConfigReader& reader, ModelConfig& config) {
  const bool may_be_multi_head = config.family == ModelFamily::kLlama;  // Llama 1 knows no other
  const std::optional<int64_t> kv_heads =
      reader.OptionalInteger("num_key_value_heads", 1, kMaxHeads);
  if (!kv_heads.has_value() && !may_be_multi_head)
    reader.FailInvalid("num_key_value_heads is missing");
  config.num_key_value_heads = kv_heads.value_or(config.num_attention_heads);

  const std::optional<int64_t> head_dim = reader.OptionalInteger("head_dim", 1, kMaxHeadElements);
  if (!head_dim.has_value() && config.family == ModelFamily::kQwen3) {
    reader.FailInvalid("head_dim is missing");  // the reference's default is 128, not the quotient
  }
  if (!head_dim.has_value() && config.hidden_size % config.num_attention_heads != 0) {
    reader.FailInvalid(absl::StrCat("num_attention_heads ", config.num_attention_heads,
                                    " does not divide hidden_size ", config.hidden_size));
  }
  config.head_dim = head_dim.value_or(config.hidden_size / config.num_attention_heads);
  if (config.head_dim == 0)
    reader.FailInvalid("head_dim comes out as 0: more heads than hidden_size");
}

void CheckHeads(ConfigReader& reader, const ModelConfig& config) {
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    reader.FailInvalid(absl::StrCat("num_key_value_heads ", config.num_key_value_heads,
                                    " does not divide num_attention_heads ",
                                    config.num_attention_heads));
  }
  if (config.num_attention_heads * config.head_dim > kMaxHeadElements) {
    reader.FailInvalid(absl::StrCat("num_attention_heads * head_dim must be at most ",
                                    kMaxHeadElements, ", is ", config.num_attention_heads, " * ",
                                    config.head_dim));
  }
  if (config.family != ModelFamily::kGpt2 && config.head_dim % 2 != 0) {
    reader.FailInvalid(absl::StrCat("head_dim must be even for RoPE, is ", config.head_dim));
  }
}

// 64 * ceil(x / 64).
int64_t RoundUpTo64(int64_t x) { return (x + 63) / 64 * 64; }

// MiniMind derives the size that its config does not give: from 8/3 hidden_size, later from pi *
// hidden_size.
int64_t MinimindIntermediateSize(const ModelConfig& config) {
  if (config.family == ModelFamily::kMinimind2) return RoundUpTo64(config.hidden_size * 8 / 3);
  constexpr double kPi = 3.14159265358979323846;
  const double exact = static_cast<double>(config.hidden_size) * kPi / 64.0;
  const int64_t whole = static_cast<int64_t>(exact);
  return 64 * (static_cast<double>(whole) < exact ? whole + 1 : whole);
}

// The generations of MiniMind share model_type; their own keys tell them apart.
ModelFamily MinimindGeneration(ConfigReader& reader) {
  if (reader.Has("dim") || reader.Has("n_layers")) {
    reader.FailUnsupported(
        "the first generation of MiniMind (keys dim, n_layers) is not supported");
  }
  const bool second = reader.Has("n_routed_experts");
  const bool third = reader.Has("num_experts");
  if (second == third) {
    reader.FailInvalid(
        "model_type minimind needs either n_routed_experts (MiniMind2) or num_experts "
        "(MiniMind-3)");
  }
  return second ? ModelFamily::kMinimind2 : ModelFamily::kMinimind3;
}

// Llama, Qwen2, Qwen3, MiniMind: the common keys.
void ReadLlamaLike(ConfigReader& reader, ModelConfig& config) {
  const bool minimind = config.model_type == "minimind";
  if (minimind) config.family = MinimindGeneration(reader);
  config.vocab_size = reader.Integer("vocab_size", 1, kMaxVocabSize);
  config.hidden_size = reader.Integer("hidden_size", 1, kMaxHiddenSize);
  config.num_hidden_layers = reader.Integer("num_hidden_layers", 1, kMaxLayers);
  config.num_attention_heads = reader.Integer("num_attention_heads", 1, kMaxHeads);
  config.max_position_embeddings = reader.Integer("max_position_embeddings", 1, kMaxPositions);
  if (minimind && !reader.Has("intermediate_size")) {
    config.intermediate_size = MinimindIntermediateSize(config);
  } else {
    config.intermediate_size = reader.Integer("intermediate_size", 1, kMaxIntermediateSize);
  }
  ReadHeads(reader, config);

  const std::optional<double> eps = reader.OptionalNumber("rms_norm_eps", 0.0, 1.0);
  if (!eps.has_value()) reader.FailInvalid("rms_norm_eps is missing");
  config.rms_norm_eps = eps.value_or(0.0);
  config.hidden_act = reader.OptionalString("hidden_act").value_or("");
  if (config.hidden_act.empty()) reader.FailInvalid("hidden_act is missing");

  config.attention_bias = reader.OptionalBool("attention_bias").value_or(false);
  config.mlp_bias = reader.OptionalBool("mlp_bias").value_or(false);
  const bool knows_attention_bias =
      config.family == ModelFamily::kLlama || config.family == ModelFamily::kQwen3;
  if (config.attention_bias && minimind)
    reader.FailUnsupported("attention_bias true is not supported with minimind");
  if (!knows_attention_bias) config.attention_bias = false;  // Qwen2 has its own fixed rule
  if (config.mlp_bias && config.family != ModelFamily::kLlama) {
    reader.FailUnsupported(absl::StrCat("mlp_bias true is not supported with ", config.model_type));
  }

  if (minimind) {
    config.rope_parameters = ReadMinimindRopeParameters(reader, config.max_position_embeddings,
                                                        config.family == ModelFamily::kMinimind3);
  } else {
    const bool llama =
        config.family == ModelFamily::kLlama;  // Llama 1 files do not give rope_theta
    config.rope_parameters =
        ReadRopeParameters(reader, config.max_position_embeddings,
                           llama ? std::optional<double>(10000.0) : std::nullopt);
    for (const absl::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
      if (reader.OptionalInteger(key, 0, 1 << 20).value_or(0) > 1) {
        reader.FailUnsupported(absl::StrCat(key, ": experts are not supported"));
      }
    }
  }
}

void ReadGpt2(ConfigReader& reader, ModelConfig& config) {
  config.vocab_size = reader.Integer("vocab_size", 1, kMaxVocabSize);
  config.hidden_size = reader.Integer("n_embd", 1, kMaxHiddenSize);
  config.num_hidden_layers = reader.Integer("n_layer", 1, kMaxLayers);
  config.num_attention_heads = reader.Integer("n_head", 1, kMaxHeads);
  config.max_position_embeddings = reader.Integer("n_positions", 1, kMaxPositions);
  config.intermediate_size =
      reader.OptionalInteger("n_inner", 1, kMaxIntermediateSize).value_or(4 * config.hidden_size);
  config.num_key_value_heads = config.num_attention_heads;
  if (config.hidden_size % config.num_attention_heads != 0) {
    reader.FailInvalid(absl::StrCat("n_head ", config.num_attention_heads,
                                    " does not divide n_embd ", config.hidden_size));
  }
  config.head_dim = config.hidden_size / config.num_attention_heads;
  const std::optional<double> eps = reader.OptionalNumber("layer_norm_epsilon", 0.0, 1.0);
  if (!eps.has_value()) reader.FailInvalid("layer_norm_epsilon is missing");
  config.layer_norm_epsilon = eps.value_or(0.0);
  config.hidden_act = reader.OptionalString("activation_function")
                          .value_or("gelu_new");  // files before 2020-04 have none
  config.scale_attn_weights = reader.OptionalBool("scale_attn_weights").value_or(true);
  config.scale_attn_by_inverse_layer_idx =
      reader.OptionalBool("scale_attn_by_inverse_layer_idx").value_or(false);
}

}  // namespace

absl::string_view ModelFamilyName(ModelFamily family) {
  switch (family) {
    case ModelFamily::kLlama:
      return "llama";
    case ModelFamily::kQwen2:
      return "qwen2";
    case ModelFamily::kQwen3:
      return "qwen3";
    case ModelFamily::kGpt2:
      return "gpt2";
    case ModelFamily::kMinimind2:
      return "minimind2";
    case ModelFamily::kMinimind3:
      return "minimind3";
  }
  return "unknown";
}

absl::string_view RopeTypeName(RopeType type) {
  switch (type) {
    case RopeType::kDefault:
      return "default";
    case RopeType::kLinear:
      return "linear";
    case RopeType::kDynamic:
      return "dynamic";
    case RopeType::kYarn:
      return "yarn";
    case RopeType::kLlama3:
      return "llama3";
    case RopeType::kMinimindYarn:
      return "minimind_yarn";
    case RopeType::kMinimindFirstYarn:
      return "minimind_first_yarn";
  }
  return "unknown";
}

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view json) {
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(json, kFileName));
  absl::Status status;
  ConfigReader reader(object, kFileName, &status);
  ModelConfig config;
  const ModelTypeInfo* info = FindModelType(reader, config);
  if (info == nullptr || !status.ok()) return status;
  config.family = info->family;
  if (config.family == ModelFamily::kGpt2) {
    ReadGpt2(reader, config);
  } else {
    ReadLlamaLike(reader, config);
  }
  if (!status.ok()) return status;
  CheckHeads(reader, config);
  RejectUnsupported(reader, config.num_hidden_layers);
  ReadTokenIds(reader, config);
  config.dtype = ReadDType(reader);
  config.tie_word_embeddings =
      reader.OptionalBool("tie_word_embeddings").value_or(info->tie_word_embeddings);
  if (!status.ok()) return status;
  return config;
}

}  // namespace phyllo
