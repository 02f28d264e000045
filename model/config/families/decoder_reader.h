// Reading of what most families share, for their `describe` functions.
#ifndef PHYLLO_MODEL_CONFIG_FAMILIES_DECODER_READER_H_
#define PHYLLO_MODEL_CONFIG_FAMILIES_DECODER_READER_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"
#include "model/config/reader/rope_reader.h"
#include "model/config/weight_names.h"

namespace phyllo {

// The names that Llama and its relatives give to tensors, experts included.
extern const WeightNames kLlamaWeightNames;

// The keys of the sizes and the defaults of the reference's config class. What is absent from the
// file and has no default here is an error.
struct DecoderKeys {
  absl::string_view hidden_size = "hidden_size";
  absl::string_view intermediate_size = "intermediate_size";
  absl::string_view num_hidden_layers = "num_hidden_layers";
  absl::string_view num_attention_heads = "num_attention_heads";
  absl::string_view num_key_value_heads = "num_key_value_heads";
  absl::string_view max_position_embeddings = "max_position_embeddings";
  absl::string_view norm_eps = "rms_norm_eps";
  absl::string_view hidden_act = "hidden_act";

  // The intermediate_size for a hidden_size.
  int64_t (*default_intermediate_size)(int64_t hidden_size) = nullptr;
  bool default_multi_head = false;            // num_key_value_heads is num_attention_heads
  bool default_head_dim = true;               // head_dim is hidden_size / num_attention_heads
  absl::string_view default_hidden_act = "";  // empty = none

  NormDescription norm = {};                  // its eps is read
  std::optional<RopeKeys> rope = RopeKeys();  // absent = learned positions
  const WeightNames* weight_names = &kLlamaWeightNames;
};

// Reads a decoder of equal layers, each with both norms before its halves, unbiased projections, a
// gated feed-forward, and RoPE of one kind. Errors go to the reader's status.
void ReadDecoder(ConfigReader& reader, const DecoderKeys& keys, DecoderDescription& decoder);

// The largest values that a config may have.
inline constexpr int64_t kMaxIntermediateSize = 1 << 22;
inline constexpr int64_t kMaxExperts = 1 << 12;
inline constexpr int64_t kMaxExpertsOfAllLayers = 1 << 17;

// `attention_bias`: biases of q, k, v and o in all layers.
void ReadAttentionBias(ConfigReader& reader, DecoderDescription& decoder);

// `mlp_bias`: biases of gate, up and down in all layers.
void ReadMlpBias(ConfigReader& reader, DecoderDescription& decoder);

// The activation that a key names. UNIMPLEMENTED if it is not in Activation.
Activation ReadActivation(ConfigReader& reader, absl::string_view key, absl::string_view absent);

// `sliding_window` (which is `absent` where the key is not) in the layers that `layer_types` calls
// "sliding_attention", or if that is absent in those, 0-based, of which `slides` is true.
// INVALID_ARGUMENT if a layer slides and there is no window, UNIMPLEMENTED for other layer types.
void ReadSlidingWindow(ConfigReader& reader, std::optional<int64_t> absent,
                       const std::function<bool(int64_t layer)>& slides,
                       DecoderDescription& decoder);

// The same of Qwen, where `use_sliding_window` switches it on.
void ReadSwitchedSlidingWindow(ConfigReader& reader,
                               const std::function<bool(int64_t layer)>& slides,
                               DecoderDescription& decoder);

// `num_experts_per_tok` of as many experts as `num_experts_key` says, for every layer of
// `decoder`.
ExpertsDescription ReadExperts(ConfigReader& reader, absl::string_view num_experts_key,
                               const DecoderDescription& decoder);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_FAMILIES_DECODER_READER_H_
