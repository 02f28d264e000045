#include "model/gguf/gguf_config.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/gguf.h"
#include "model/config/reader/config_reader.h"
#include "model/gguf/config_translator.h"

// The keys are those of llama.cpp's convert_hf_to_gguf.py, which writes nearly all files there are.
// Values are checked for type here; their limits are those of ParseModelConfig.

namespace phyllo {
namespace {

using Json = nlohmann::json;

// Metadata without the tokenizer's, as a JSON object.
Json MetadataJson(const GgufContents& contents) {
  Json object = Json::object();
  for (const auto& [key, value] : contents.metadata) {
    if (absl::StartsWith(key, "tokenizer.") && value.type == GgufType::kArray) continue;
    Json& json = object[std::string(key)];
    switch (value.type) {
      case GgufType::kString:
        json = std::string(value.text);
        break;
      case GgufType::kBool:
        json = value.boolean;
        break;
      case GgufType::kFloat32:
      case GgufType::kFloat64:
        json = value.number;
        break;
      case GgufType::kArray:
        json = Json::array();
        for (const int64_t element : value.integers) json.push_back(element);
        for (const double element : value.numbers) json.push_back(element);
        for (const absl::string_view element : value.texts) json.push_back(std::string(element));
        break;
      default:
        json = value.integer;
        break;
    }
  }
  return object;
}

// config[to] = the number of that name, if it is there.
void CopyNumber(ConfigTranslator& translator, absl::string_view name, const char* to) {
  if (const std::optional<double> value = translator.Number(name)) translator.config()[to] = *value;
}

int64_t HeadDim(ConfigTranslator& translator) {
  const std::optional<int64_t> key = translator.Integer("attention.key_length");
  if (key != translator.Integer("attention.value_length")) {
    translator.Fail(absl::StrCat(translator.Key("attention.key_length"),
                                 " differs from value_length, which is not supported"));
  }
  const int64_t heads = translator.Required("attention.head_count");
  return key.value_or(translator.Required("embedding_length") / (heads > 0 ? heads : 1));
}

// Frequencies of any scaling, as the factors that the converter computed: longrope with both lists
// equal, so that no length switches it.
Json FactorsJson(absl::Span<const float> factors, int64_t context_length) {
  Json scaling = {{"rope_type", "longrope"},
                  {"attention_factor", 1.0},
                  {"original_max_position_embeddings", context_length}};
  scaling["short_factor"] = Json(std::vector<float>(factors.begin(), factors.end()));
  scaling["long_factor"] = scaling["short_factor"];
  return scaling;
}

// Phi-3's two lists, short and long.
Json LongropeJson(ConfigTranslator& translator) {
  Json scaling = {{"rope_type", "longrope"}};
  scaling["short_factor"] = translator.Floats("rope_factors_short.weight");
  scaling["long_factor"] = translator.Floats("rope_factors_long.weight");
  if (const auto factor = translator.Number("rope.scaling.attn_factor"))
    scaling["attention_factor"] = *factor;
  return scaling;
}

Json YarnJson(ConfigTranslator& translator) {
  Json scaling = {{"rope_type", "yarn"}};
  scaling["factor"] = translator.Number("rope.scaling.factor").value_or(1.0);
  if (const auto original = translator.Integer("rope.scaling.original_context_length"))
    scaling["original_max_position_embeddings"] = *original;
  if (const auto fast = translator.Number("rope.scaling.yarn_beta_fast"))
    scaling["beta_fast"] = *fast;
  if (const auto slow = translator.Number("rope.scaling.yarn_beta_slow"))
    scaling["beta_slow"] = *slow;
  if (const auto factor = translator.Number("rope.scaling.yarn_attn_factor"))
    scaling["attention_factor"] = *factor;
  return scaling;
}

void TranslateRopeScaling(ConfigTranslator& translator) {
  Json& config = translator.config();
  const std::string type = translator.Text("rope.scaling.type");
  const std::vector<float> factors = translator.Floats("rope_freqs.weight");
  if (!factors.empty()) {
    config["rope_scaling"] = FactorsJson(factors, translator.Required("context_length"));
  } else if (translator.HasTensor("rope_factors_long.weight")) {
    config["rope_scaling"] = LongropeJson(translator);
  } else if (type == "linear") {
    config["rope_scaling"] = {{"rope_type", "linear"},
                              {"factor", translator.Number("rope.scaling.factor").value_or(1.0)}};
  } else if (type == "yarn") {
    config["rope_scaling"] = YarnJson(translator);
  } else if (!type.empty() && type != "none") {
    translator.Fail(
        absl::StrCat(translator.Key("rope.scaling.type"), " \"", type, "\" is not supported"));
  }
}

// What all architectures with RoPE have.
void TranslateLlamaLike(ConfigTranslator& translator) {
  Json& config = translator.config();
  config["vocab_size"] = translator.VocabSize();
  config["hidden_size"] = translator.Required("embedding_length");
  config["intermediate_size"] = translator.Required("feed_forward_length");
  config["num_hidden_layers"] = translator.Required("block_count");
  config["max_position_embeddings"] = translator.Required("context_length");
  const int64_t heads = translator.Required("attention.head_count");
  config["num_attention_heads"] = heads;
  config["num_key_value_heads"] =
      translator.UniformInteger("attention.head_count_kv").value_or(heads);
  const int64_t head_dim = HeadDim(translator);
  config["head_dim"] = head_dim;
  config["hidden_act"] = "silu";
  CopyNumber(translator, "attention.layer_norm_rms_epsilon", "rms_norm_eps");
  config["rope_theta"] = translator.Number("rope.freq_base").value_or(10000.0);
  const std::optional<int64_t> rotary_dim = translator.Integer("rope.dimension_count");
  if (rotary_dim.has_value() && *rotary_dim != head_dim && head_dim > 0)
    config["partial_rotary_factor"] =
        static_cast<double>(*rotary_dim) / static_cast<double>(head_dim);
  TranslateRopeScaling(translator);
  config["tie_word_embeddings"] = !translator.HasTensor("output.weight");
}

void TranslateBiases(ConfigTranslator& translator) {
  translator.config()["attention_bias"] = translator.HasTensor("blk.0.attn_q.bias");
  translator.config()["mlp_bias"] = translator.HasTensor("blk.0.ffn_gate.bias");
}

void TranslateLlama(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  const int64_t experts = translator.Integer("expert_count").value_or(0);
  if (experts == 0) {
    TranslateBiases(translator);
    return;
  }
  Json& config = translator.config();
  config["model_type"] = "mixtral";
  config["num_local_experts"] = experts;
  config["num_experts_per_tok"] = translator.Required("expert_used_count");
  config["sliding_window"] = nullptr;
}

void TranslateQwen2(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  translator.config()["use_sliding_window"] = false;
}

void TranslateQwen3(ConfigTranslator& translator) {
  TranslateQwen2(translator);
  translator.config()["attention_bias"] = translator.HasTensor("blk.0.attn_q.bias");
}

void TranslateQwen3Moe(ConfigTranslator& translator) {
  TranslateQwen3(translator);
  Json& config = translator.config();
  config["num_experts"] = translator.Required("expert_count");
  config["num_experts_per_tok"] = translator.Required("expert_used_count");
  config["moe_intermediate_size"] = translator.Required("expert_feed_forward_length");
  config["norm_topk_prob"] = translator.Bool("expert_weights_norm").value_or(true);
}

void TranslateGemma(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  translator.config()["hidden_act"] = "gelu_pytorch_tanh";
  translator.config()["hidden_activation"] = "gelu_pytorch_tanh";
}

// Gemma 2 and 3. The 27B models of both divide scores by the root of hidden_size / heads; the
// format does not say so, and llama.cpp knows these models by their number of layers.
void TranslateGemmaWithWindows(ConfigTranslator& translator, int64_t layers_of_27b) {
  TranslateGemma(translator);
  Json& config = translator.config();
  const int64_t heads = translator.Required("attention.head_count");
  const bool of_27b = translator.Required("block_count") == layers_of_27b && heads > 0;
  config["query_pre_attn_scalar"] =
      of_27b ? translator.Required("embedding_length") / heads : HeadDim(translator);
  config["sliding_window"] = translator.Required("attention.sliding_window");
  CopyNumber(translator, "attn_logit_softcapping", "attn_logit_softcapping");
  CopyNumber(translator, "final_logit_softcapping", "final_logit_softcapping");
}

void TranslateGemma2(ConfigTranslator& translator) { TranslateGemmaWithWindows(translator, 46); }

void TranslateGemma3(ConfigTranslator& translator) {
  TranslateGemmaWithWindows(translator, 62);
  translator.config()["rope_local_base_freq"] =
      translator.Number("rope.freq_base_swa").value_or(10000.0);
}

void TranslatePhi3(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  Json& config = translator.config();
  const int64_t window = translator.Integer("attention.sliding_window").value_or(0);
  config["sliding_window"] = window == 0 ? Json() : Json(window);
  if (const auto original = translator.Integer("rope.scaling.original_context_length"))
    config["original_max_position_embeddings"] = *original;
  config.erase("head_dim");
}

void TranslateGpt2(ConfigTranslator& translator) {
  Json& config = translator.config();
  config["vocab_size"] = translator.VocabSize();
  config["n_embd"] = translator.Required("embedding_length");
  config["n_layer"] = translator.Required("block_count");
  config["n_head"] = translator.Required("attention.head_count");
  config["n_positions"] = translator.Required("context_length");
  config["n_inner"] = translator.Required("feed_forward_length");
  config["activation_function"] = "gelu_new";
  CopyNumber(translator, "attention.layer_norm_epsilon", "layer_norm_epsilon");
  config["tie_word_embeddings"] = !translator.HasTensor("output.weight");
}

void TranslateGptNeox(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  Json& config = translator.config();
  config["hidden_act"] = "gelu";
  config["rotary_emb_base"] = config["rope_theta"];
  config.erase("rope_theta");
  config["rotary_pct"] = config.value("partial_rotary_factor", 1.0);
  config.erase("partial_rotary_factor");
  config.erase("head_dim");
  config["use_parallel_residual"] = translator.Bool("use_parallel_residual").value_or(true);
  CopyNumber(translator, "attention.layer_norm_epsilon", "layer_norm_eps");
}

void TranslateGranite(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  TranslateBiases(translator);
  translator.config().erase("head_dim");
  CopyNumber(translator, "attention.scale", "attention_multiplier");
  CopyNumber(translator, "embedding_scale", "embedding_multiplier");
  CopyNumber(translator, "residual_scale", "residual_multiplier");
  CopyNumber(translator, "logit_scale", "logits_scaling");
}

void TranslateSmolLm3(ConfigTranslator& translator) {
  TranslateLlamaLike(translator);
  Json no_rope_layers = Json::array();
  for (int64_t i = 1; i <= translator.Required("block_count") && i <= 4096; ++i)
    no_rope_layers.push_back(i % 4 == 0 ? 0 : 1);
  translator.config()["no_rope_layers"] = std::move(no_rope_layers);
}

struct Architecture {
  absl::string_view name;        // general.architecture
  absl::string_view model_type;  // of transformers
  void (*translate)(ConfigTranslator& translator);
};

constexpr Architecture kArchitectures[] = {
    {"gemma", "gemma", TranslateGemma},
    {"gemma2", "gemma2", TranslateGemma2},
    {"gemma3", "gemma3_text", TranslateGemma3},
    {"gpt2", "gpt2", TranslateGpt2},
    {"gptneox", "gpt_neox", TranslateGptNeox},
    {"granite", "granite", TranslateGranite},
    {"llama", "llama", TranslateLlama},
    {"olmo2", "olmo2", TranslateLlamaLike},
    {"phi3", "phi3", TranslatePhi3},
    {"qwen2", "qwen2", TranslateQwen2},
    {"qwen3", "qwen3", TranslateQwen3},
    {"qwen3moe", "qwen3_moe", TranslateQwen3Moe},
    {"smollm3", "smollm3", TranslateSmolLm3},
};

const Architecture* FindArchitecture(ConfigReader& reader) {
  const std::string name = reader.OptionalString("general.architecture").value_or("");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
    absl::StrAppend(&known, known.empty() ? "" : ", ", architecture.name);
  }
  if (name.empty()) {
    reader.FailInvalid("general.architecture is missing");
  } else {
    reader.FailUnsupported(
        absl::StrCat("general.architecture \"", name, "\" is not supported; supported: ", known));
  }
  return nullptr;
}

std::string FileName(const Checkpoint& checkpoint) { return checkpoint.shards().front().name; }

std::optional<int64_t> TokenId(ConfigReader& reader, absl::string_view name) {
  return reader.OptionalInteger(absl::StrCat("tokenizer.ggml.", name), 0, int64_t{1} << 32);
}

// Ends of turns by the names that chat models give them; llama.cpp stops at these too.
constexpr absl::string_view kEndOfTurn[] = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>",    "<|end|>",         "<end_of_turn>",
    "<|eot|>",    "<EOT>",      "<|endoftext|>", "<|end_of_text|>",
};

constexpr int64_t kControlToken = 3;  // of tokenizer.ggml.token_type

void AddEndOfTurnTokens(const GgufContents& contents, std::set<int64_t>& ids) {
  const GgufValue* const tokens = contents.Find("tokenizer.ggml.tokens");
  const GgufValue* const types = contents.Find("tokenizer.ggml.token_type");
  if (tokens == nullptr || types == nullptr || types->integers.size() != tokens->texts.size())
    return;
  for (size_t i = 0; i < tokens->texts.size(); ++i) {
    if (types->integers[i] != kControlToken) continue;
    for (const absl::string_view name : kEndOfTurn) {
      if (tokens->texts[i] == name) ids.insert(static_cast<int64_t>(i));
    }
  }
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

}  // namespace

absl::StatusOr<std::string> GgufConfigJson(const Checkpoint& checkpoint) {
  const Json metadata = MetadataJson(*checkpoint.gguf());
  absl::Status status;
  ConfigReader reader(metadata, FileName(checkpoint), &status);
  ConfigTranslator translator(checkpoint, reader);
  const Architecture* const architecture = FindArchitecture(reader);
  if (architecture == nullptr) return status;
  Json& config = translator.config();
  config["model_type"] = std::string(architecture->model_type);
  config["weight_names"] = "gguf";
  architecture->translate(translator);
  if (const auto bos = TokenId(reader, "bos_token_id")) config["bos_token_id"] = *bos;
  if (const auto eos = TokenId(reader, "eos_token_id")) config["eos_token_id"] = *eos;
  if (const auto pad = TokenId(reader, "padding_token_id")) config["pad_token_id"] = *pad;
  if (!status.ok()) return status;
  return Dump(config);
}

absl::StatusOr<std::string> GgufGenerationConfigJson(const Checkpoint& checkpoint) {
  const Json metadata = MetadataJson(*checkpoint.gguf());
  absl::Status status;
  ConfigReader reader(metadata, FileName(checkpoint), &status);
  std::set<int64_t> ids;
  for (const absl::string_view name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    if (const std::optional<int64_t> id = TokenId(reader, name)) ids.insert(*id);
  }
  AddEndOfTurnTokens(*checkpoint.gguf(), ids);
  if (!status.ok()) return status;
  return Dump(Json{{"eos_token_id", ids}});
}

}  // namespace phyllo
