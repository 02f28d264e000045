#include "model/transformer/testing/toy_models.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "model/base/status_macros.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"

namespace phyllo {
namespace {

// A config of the Llama kind: hidden_size 12, 2 layers, `more` being further keys.
std::string LlamaLike(absl::string_view model_type, absl::string_view more) {
  return absl::StrCat(R"({"model_type": ")", model_type,
                      R"(", "vocab_size": 29, "hidden_size": 12, "num_hidden_layers": 2,
      "rms_norm_eps": 1e-5, "max_position_embeddings": 96, "rope_theta": 10000.0, )",
                      more, "}");
}

std::string Gpt2(absl::string_view more) {
  return absl::StrCat(
      R"({"model_type": "gpt2", "vocab_size": 31, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 96,
      "layer_norm_epsilon": 1e-5)",
      more, "}");
}

// Norm weights lie around 1; all else is scaled so that activations neither die nor explode.
float RandomValue(const WeightSpec& spec, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, 1.0f);
  switch (spec.role) {
    case WeightRole::kInputNorm:
    case WeightRole::kAttentionOutputNorm:
    case WeightRole::kFeedForwardNorm:
    case WeightRole::kFeedForwardOutputNorm:
    case WeightRole::kFinalNorm:
    case WeightRole::kQNorm:
    case WeightRole::kKNorm:
      return 1.0f + 0.2f * normal(random);
    default:
      break;
  }
  return normal(random) / std::sqrt(static_cast<float>(spec.columns)) *
         (spec.columns == 1 ? 0.3f : 1.0f);
}

// Norms behind the halves of every layer.
void AddOutputNorms(DecoderDescription& decoder) {
  static constexpr WeightName kOutputNorms[] = {
      {WeightRole::kAttentionOutputNorm, "layers.*.attention_output_norm"},
      {WeightRole::kFeedForwardOutputNorm, "layers.*.feed_forward_output_norm"}};
  static const WeightNames names = {.base = decoder.weight_names, .names = kOutputNorms};
  decoder.weight_names = &names;
  for (LayerDescription& layer : decoder.layers)
    layer.attention_output_norm = layer.feed_forward_output_norm = true;
}

// What a Llama with GQA, heads of 6 elements, is changed into: norms, residuals and logits.
std::vector<ToyModel> ModelsOfChangedStreams(const std::string& config) {
  using Decoder = DecoderDescription;
  return {
      {"SoftCaps", config,
       [](Decoder& d) {
         for (LayerDescription& layer : d.layers) layer.attention.soft_cap = 1.5f;
         d.logits_divisor = 0.8f;
         d.logits_soft_cap = 2.0f;
       }},
      {"FourNorms", config,
       [](Decoder& d) {
         AddOutputNorms(d);
         d.norm.weight_offset = 0.5f;
       }},
      {"OutputNormsOnly", config,
       [](Decoder& d) {
         AddOutputNorms(d);
         for (LayerDescription& layer : d.layers) {
           layer.input_norm = layer.feed_forward_norm = false;
           layer.attention.qk_norm = QkNorm::kProjection;
         }
       }},
      {"HeadNormsWithOffset", config,
       [](Decoder& d) {
         d.norm.weight_offset = 0.5f;
         for (LayerDescription& layer : d.layers) layer.attention.qk_norm = QkNorm::kHead;
       }},
      {"Parallel", config,
       [](Decoder& d) {
         for (LayerDescription& layer : d.layers) layer.residual = ResidualForm::kParallel;
       }},
      {"ParallelWithOneNorm", config,
       [](Decoder& d) {
         for (LayerDescription& layer : d.layers) {
           layer.residual = ResidualForm::kParallel;
           layer.feed_forward_norm = false;
         }
       }},
      {"Multipliers", config,
       [](Decoder& d) {
         d.embedding_scale = 2.5f;
         d.residual_multiplier = 0.22f;
         for (LayerDescription& layer : d.layers) layer.attention.scale = 0.3f;
       }},
      {"LmHeadBias", config, [](Decoder& d) { d.lm_head_bias = true; }},
  };
}

// The same of windows, RoPE and layers that differ.
std::vector<ToyModel> ModelsOfChangedLayers(const std::string& config) {
  using Decoder = DecoderDescription;
  return {
      {"SlidingWindow", config, [](Decoder& d) { d.layers[1].attention.sliding_window = 7; }},
      {"TwoRopes", config,
       [](Decoder& d) {
         d.ropes.push_back(d.ropes[0]);
         d.ropes[1].parameters.rope_theta = 50.0;
         d.ropes[1].rotary_dim = 4;
         d.layers[1].attention.rope = 1;
       }},
      {"InterleavedRope", config,
       [](Decoder& d) {
         d.ropes[0].layout = RopeLayout::kInterleaved;
         d.ropes[0].rotary_dim = 4;
       }},
      {"LayerWithoutRope", config, [](Decoder& d) { d.layers[0].attention.rope.reset(); }},
      {"LayersThatDiffer", config,
       [](Decoder& d) {
         d.layers[1].attention.num_attention_heads = 2;
         d.layers[1].feed_forward.gated = false;
         d.layers[1].feed_forward.intermediate_size = 31;
       }},
  };
}

}  // namespace

std::vector<ToyModel> ToyModels() {
  const std::string gqa =
      R"("num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 20, )";
  const std::string mha =
      R"("num_attention_heads": 3, "num_key_value_heads": 3, "intermediate_size": 17, )";
  const std::string mqa =
      R"("num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 8, "intermediate_size": 33, )";
  const std::string silu = R"("hidden_act": "silu", "tie_word_embeddings": false)";
  const std::string scaled = silu + R"(, "rope_scaling": )";
  std::vector<ToyModel> models = {
      {"LlamaGqa", LlamaLike("llama", gqa + silu)},
      {"LlamaMqa", LlamaLike("llama", mqa + silu)},
      {"LlamaMhaTied",
       LlamaLike("llama", mha + R"("hidden_act": "silu", "tie_word_embeddings": true)")},
      {"LlamaBiases",
       LlamaLike("llama", gqa + silu + R"(, "attention_bias": true, "mlp_bias": true)")},
      {"LlamaGelu",
       LlamaLike("llama", mha + R"("hidden_act": "gelu", "tie_word_embeddings": false)")},
      {"LlamaGeluTanh",
       LlamaLike("llama",
                 mha + R"("hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": false)")},
      {"LlamaRelu",
       LlamaLike("llama", mha + R"("hidden_act": "relu", "tie_word_embeddings": false)")},
      {"LlamaLinear",
       LlamaLike("llama", gqa + scaled + R"({"rope_type": "linear", "factor": 4.0})")},
      {"LlamaDynamic",
       LlamaLike("llama", gqa + scaled + R"({"rope_type": "dynamic", "factor": 2.0})")},
      {"Llama3",
       LlamaLike("llama",
                 gqa + scaled + R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16})")},
      {"LlamaYarn", LlamaLike("llama", gqa + scaled + R"({"rope_type": "yarn", "factor": 4.0,
          "original_max_position_embeddings": 24})")},
      {"Qwen2", LlamaLike("qwen2", mha + R"("hidden_act": "silu", "tie_word_embeddings": true)")},
      {"Qwen3", LlamaLike("qwen3", gqa + silu)},
      {"Qwen3Moe", LlamaLike("qwen3_moe", gqa + silu + R"(, "num_experts": 7,
          "num_experts_per_tok": 3, "moe_intermediate_size": 9, "norm_topk_prob": true,
          "decoder_sparse_step": 1, "mlp_only_layers": [1])")},
      {"Qwen3MoeNotRenormalised", LlamaLike("qwen3_moe", gqa + silu + R"(, "num_experts": 70,
          "num_experts_per_tok": 2, "moe_intermediate_size": 9, "norm_topk_prob": false,
          "decoder_sparse_step": 1, "mlp_only_layers": [])")},
      {"Mixtral", LlamaLike("mixtral", gqa + silu + R"(, "num_local_experts": 4,
          "num_experts_per_tok": 2)")},
      {"Minimind2Shared", LlamaLike("minimind", mha + silu + R"(, "use_moe": true,
          "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 2,
          "norm_topk_prob": true, "scoring_func": "softmax", "inference_rope_scaling": false)")},
      {"Gpt2", Gpt2("")},
      {"Gpt2Relu", Gpt2(R"(, "activation_function": "relu", "n_inner": 300)")},
  };
  const std::string config = LlamaLike("llama", gqa + silu);
  for (ToyModel& model : ModelsOfChangedStreams(config)) models.push_back(std::move(model));
  for (ToyModel& model : ModelsOfChangedLayers(config)) models.push_back(std::move(model));
  return models;
}

absl::StatusOr<ModelConfig> ToyConfig(const ToyModel& model) {
  PHYLLO_ASSIGN_OR_RETURN(ModelConfig config, ParseModelConfig(model.config));
  if (model.change) model.change(config.decoder);
  return config;
}

ToyModel FindToyModel(absl::string_view name) {
  for (const ToyModel& model : ToyModels()) {
    if (model.name == name) return model;
  }
  ADD_FAILURE() << "no toy model " << name;
  return {};
}

std::vector<ToyModel> ToyModelsOfEveryWeight() {
  std::vector<ToyModel> models;
  for (const char* const name :
       {"LlamaBiases", "LlamaMhaTied", "Gpt2", "Gpt2Relu", "Qwen3", "Qwen3Moe", "Minimind2Shared",
        "FourNorms", "LmHeadBias", "LayersThatDiffer"})
    models.push_back(FindToyModel(name));
  return models;
}

absl::StatusOr<std::string> WriteToyModel(const ToyModel& model) {
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ToyConfig(model));
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "toy_models" / model.name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << model.config;

  // A fused tensor occurs once in the file and in several specs, all of them of its shape.
  std::mt19937 random(11);
  std::set<std::string> written;
  std::vector<std::string> entries;
  std::vector<float> values;
  for (const WeightSpec& spec : BuildWeightMap(config.decoder).specs) {
    if (!written.insert(spec.names[0]).second) continue;
    const size_t begin = values.size();
    int64_t count = 1;
    for (const int64_t size : spec.shape) count *= size;
    for (int64_t i = 0; i < count; ++i) values.push_back(RandomValue(spec, random));
    entries.push_back(absl::StrCat("\"", spec.names[0], R"(": {"dtype": "F32", "shape": [)",
                                   absl::StrJoin(spec.shape, ", "), R"(], "data_offsets": [)",
                                   begin * sizeof(float), ", ", values.size() * sizeof(float),
                                   "]}"));
  }
  std::string header = absl::StrCat("{", absl::StrJoin(entries, ", "), "}");
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t header_size = header.size();
  std::ofstream file(folder / "model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header_size), sizeof(header_size));
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
  if (!file.flush()) return absl::InternalError(absl::StrCat("cannot write ", folder.string()));
  return folder.string();
}

}  // namespace phyllo
