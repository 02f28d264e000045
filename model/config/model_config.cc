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
#include "model/config/decoder_description.h"
#include "model/config/families/families.h"
#include "model/config/families/family.h"
#include "model/config/families/gguf_names.h"
#include "model/config/reader/config_reader.h"
#include "model/tensor/dtype.h"

// Invariants: every key that neither this file nor the family names has no influence on what the
// model computes; a key that would have, and that the family does not read, is refused by name in
// RejectForeign or RejectUnread.

namespace phyllo {
namespace {

constexpr absl::string_view kFileName = "config.json";
constexpr int64_t kMaxTokenId = 1 << 28;
constexpr int64_t kMaxLabels = 1 << 20;

const Family* FindFamily(ConfigReader& reader, const ModelConfig& config) {
  for (const Family* family : kFamilies) {
    if (family->model_type == config.model_type) return family;
  }
  reader.FailUnsupported(absl::StrCat(
      "model_type \"", config.model_type,
      "\" is not supported (architectures: ", absl::StrJoin(config.architectures, ", "),
      "); supported: ", absl::StrJoin(kFamilies, ", ", [](std::string* out, const Family* family) {
        absl::StrAppend(out, family->model_type);
      })));
  return nullptr;
}

std::optional<HeadKind> FindHead(const Family& family, absl::string_view architecture) {
  if (architecture == absl::StrCat(family.class_prefix, "ForCausalLM")) return HeadKind::kLmHead;
  if (architecture == absl::StrCat(family.class_prefix, "ForSequenceClassification"))
    return HeadKind::kLabels;
  if (architecture == absl::StrCat(family.class_prefix, "Model")) return HeadKind::kNone;
  for (const Architecture& other : family.other_architectures) {
    if (other.name == architecture) return other.head;
  }
  return std::nullopt;
}

// The first architecture decides; a file without any is a language model.
HeadKind ReadHead(ConfigReader& reader, const Family& family, const ModelConfig& config) {
  std::optional<HeadKind> result;
  for (const std::string& architecture : config.architectures) {
    const std::optional<HeadKind> head = FindHead(family, architecture);
    if (!head.has_value()) {
      reader.FailUnsupported(absl::StrCat(
          "architecture \"", architecture, "\" is not supported; of model_type \"",
          config.model_type, "\" they are ", family.class_prefix, "ForCausalLM, ",
          family.class_prefix, "ForSequenceClassification and ", family.class_prefix, "Model"));
    }
    if (!result.has_value()) result = head;
  }
  return result.value_or(HeadKind::kLmHead);
}

// What no family can be with.
void RejectForeign(ConfigReader& reader) {
  for (const absl::string_view key : {"quantization_config", "compression_config"}) {
    if (reader.Has(key))
      reader.FailUnsupported(absl::StrCat(key, ": quantized checkpoints are not supported"));
  }
  for (const absl::string_view key : {"vision_config", "audio_config", "text_config"}) {
    if (reader.Has(key)) {
      reader.FailUnsupported(
          absl::StrCat(key, ": models with towers for images or sound are not supported"));
    }
  }
  for (const absl::string_view key : {"is_encoder_decoder", "add_cross_attention"}) {
    if (ReadBool(reader, key, false))
      reader.FailUnsupported(
          absl::StrCat(key, " true is not supported: only decoders without an encoder are"));
  }
}

// Options that change what is computed. The reference's class of a family that does not know one
// ignores it; that such a file was meant to be run so is not likely.
void RejectUnread(ConfigReader& reader, int64_t num_hidden_layers) {
  for (const absl::string_view key :
       {"use_sliding_window", "use_moe", "use_bidirectional_attention", "attention_bias",
        "mlp_bias", "use_qk_norm", "qk_layernorm"}) {
    if (!reader.WasRead(key) && ReadBool(reader, key, false))
      reader.FailUnsupported(absl::StrCat(key, " true is not supported"));
  }
  for (const absl::string_view key :
       {"attn_logit_softcapping", "final_logit_softcapping", "no_rope_layers", "mlp_only_layers"}) {
    if (!reader.WasRead(key) && reader.Has(key))
      reader.FailUnsupported(absl::StrCat(key, " is not supported"));
  }
  for (const absl::string_view key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
    if (!reader.WasRead(key) && reader.OptionalInteger(key, 0, 1 << 20).value_or(0) > 1)
      reader.FailUnsupported(absl::StrCat(key, ": experts are not supported"));
  }
  if (reader.WasRead("layer_types")) return;
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
    const std::vector<int64_t> ids = reader.IntegerList(key, -1, kMaxTokenId);
    if (ids.empty() || ids.front() < 0) return std::nullopt;
    return ids.front();
  };
  config.bos_token_id = optional_id("bos_token_id");
  config.pad_token_id = optional_id("pad_token_id");
  config.eos_token_id = reader.IntegerList("eos_token_id", 0, config.decoder.vocab_size - 1);
}

// `id2label`, whose members are "0", "1", ...; else `num_labels`; else 2, as in the reference.
void ReadLabels(ConfigReader& reader, ModelConfig& config) {
  const std::optional<int64_t> num_labels = reader.OptionalInteger("num_labels", 1, kMaxLabels);
  std::optional<ConfigReader> names = reader.OptionalObject("id2label");
  const int64_t count =
      names.has_value() ? static_cast<int64_t>(names->json().size()) : num_labels.value_or(2);
  if (count < 1 || count > kMaxLabels || count != num_labels.value_or(count)) {
    reader.FailInvalid(absl::StrCat("id2label has ", count, " entries, num_labels is ",
                                    num_labels.value_or(count), ", and ", kMaxLabels,
                                    " is the largest"));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::optional<std::string> name;
    if (names.has_value()) {
      name = names->OptionalString(absl::StrCat(i));
      if (!name.has_value()) names->FailInvalid(absl::StrCat("label ", i, " is missing"));
    }
    config.labels.push_back(name.value_or(absl::StrCat("LABEL_", i)));
  }
  config.decoder.num_labels = count;
  config.problem_type = reader.OptionalString("problem_type").value_or("");
}

// `weight_names`, which only the translation of a GGUF file writes (model/gguf).
void ReadWeightNames(ConfigReader& reader, ModelConfig& config) {
  const std::optional<std::string> names = reader.OptionalString("weight_names");
  if (!names.has_value()) return;
  if (*names == "gguf") {
    UseGgufNames(reader, config.model_type, config.decoder);
  } else {
    reader.FailUnsupported(absl::StrCat("weight_names \"", *names, "\" is not supported"));
  }
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view json) {
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(json, kFileName));
  absl::Status status;
  ConfigReader reader(object, kFileName, &status);
  ModelConfig config;
  config.architectures = reader.StringList("architectures");
  RejectForeign(reader);
  const std::optional<std::string> model_type = reader.OptionalString("model_type");
  if (!model_type.has_value()) reader.FailInvalid("model_type is missing");
  config.model_type = model_type.value_or("");
  const Family* const family = FindFamily(reader, config);
  if (!status.ok()) return status;

  DecoderDescription& decoder = config.decoder;
  decoder.head = ReadHead(reader, *family, config);
  family->describe(reader, decoder);
  if (!status.ok()) return status;
  RejectUnread(reader, decoder.num_hidden_layers());
  const bool tied = ReadBool(reader, "tie_word_embeddings", family->tie_word_embeddings);
  decoder.tie_word_embeddings = tied && decoder.head == HeadKind::kLmHead;
  if (decoder.head == HeadKind::kLabels) ReadLabels(reader, config);
  ReadTokenIds(reader, config);
  config.dtype = ReadDType(reader);
  ReadWeightNames(reader, config);
  if (!status.ok()) return status;
  return config;
}

absl::StatusOr<DecoderDescription> DescribeDecoder(const ModelConfig& config) {
  return config.decoder;
}

}  // namespace phyllo
