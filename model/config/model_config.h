// The hyperparameters of a decoder-only model, as its config.json gives them. The only reader of
// config.json.
#ifndef PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_
#define PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {

// The families that differ in names or arithmetic. decoder_description.h says how.
enum class ModelFamily {
  kLlama,      // Llama 1, 2, 3 and all that says model_type "llama"
  kQwen2,      // Qwen2 and Qwen2.5, dense
  kQwen3,      // Qwen3, dense
  kGpt2,       // GPT-2
  kMinimind2,  // MiniMind2 and the tutorial variant "MiniMind_Dense": no q/k norm
  kMinimind3,  // MiniMind-3: q/k norm
};

// The name for messages, such as "qwen3".
absl::string_view ModelFamilyName(ModelFamily family);

// How the rotary frequencies are scaled beyond the trained length. rope.h has the formulas.
enum class RopeType {
  kDefault,
  kLinear,
  kDynamic,
  kYarn,
  kLlama3,
  kMinimindYarn,       // MiniMind from 2025-12 on: YaRN, its range clamped to the half dimension
  kMinimindFirstYarn,  // MiniMind of 2025-10 and 2025-11: a formula of its own
};

// The name for messages, such as "llama3".
absl::string_view RopeTypeName(RopeType type);

// `rope_parameters` of transformers 5, or `rope_theta` and `rope_scaling` of transformers 4. A
// field that the type does not use keeps its default.
struct RopeParameters {
  RopeType rope_type = RopeType::kDefault;
  double rope_theta = 10000.0;  // > 1
  double factor = 1.0;          // >= 1
  // The length the model was trained on before scaling: > 0.
  int64_t original_max_position_embeddings = 0;
  double low_freq_factor = 1.0;            // llama3
  double high_freq_factor = 4.0;           // llama3; > low_freq_factor
  double beta_fast = 32.0;                 // yarn
  double beta_slow = 1.0;                  // yarn
  bool truncate = true;                    // yarn: round the correction range to whole dimensions
  std::optional<double> attention_factor;  // yarn: multiplies cos and sin; absent = from factor
  std::optional<double> mscale;            // yarn, DeepSeek's form
  std::optional<double> mscale_all_dim;    // yarn, DeepSeek's form
};

// A plain value. Every number in it is within the limits of ParseModelConfig, so that sums and
// products of sizes that the model library forms do not overflow int64_t.
struct ModelConfig {
  ModelFamily family = ModelFamily::kLlama;
  std::string model_type;                  // as in the file, such as "llama"
  std::vector<std::string> architectures;  // as in the file; may be empty

  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t num_key_value_heads = 0;  // divides num_attention_heads
  int64_t head_dim = 0;             // even when the family uses RoPE
  int64_t max_position_embeddings = 0;

  std::string hidden_act;          // "silu", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", ...
  double rms_norm_eps = 0.0;       // the eps of RMSNorm families, else 0
  double layer_norm_epsilon = 0;   // the eps of LayerNorm families, else 0
  RopeParameters rope_parameters;  // unused by families with learned positions
  bool attention_bias = false;     // llama: biases of q, k, v and o; qwen2 has its own rule
  bool mlp_bias = false;           // llama: biases of gate, up and down
  bool tie_word_embeddings = false;
  bool scale_attn_weights = true;                // gpt2: scores are divided by sqrt(head_dim)
  bool scale_attn_by_inverse_layer_idx = false;  // gpt2: and by layer index + 1

  std::optional<int64_t> bos_token_id;
  std::vector<int64_t> eos_token_id;  // one, several or none
  std::optional<int64_t> pad_token_id;
  std::optional<DType> dtype;  // `dtype` or `torch_dtype`: information, the tensors decide
};

// Reads the text of a config.json, in the key style of transformers 4 or 5.
// Errors, each naming the key and the value:
// - INVALID_ARGUMENT: not JSON or nested deeper than 64, a missing required key, a wrong JSON type,
//   a value out of range (hidden_size 1 .. 2^20, intermediate_size and num_attention_heads *
//   head_dim .. 2^22, num_hidden_layers .. 4096, vocab_size .. 2^28, max_position_embeddings ..
//   2^30), heads that do not divide, an odd head_dim with RoPE, an eos_token_id outside the
//   vocabulary, contradictory values of one option in its places.
// - UNIMPLEMENTED: an architecture or an option that this library does not compute (sliding
//   windows, experts, quantization_config, other RoPE types).
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view json);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_
