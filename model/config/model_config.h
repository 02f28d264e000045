// A decoder-only model, as its config.json gives it. The only reader of config.json.
#ifndef PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_
#define PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/tensor/dtype.h"

namespace phyllo {

// A plain value. Every number in it is within the limits of ParseModelConfig, so that sums and
// products of sizes that the model library forms do not overflow int64_t.
struct ModelConfig {
  std::string model_type;                  // as in the file, such as "llama"
  std::vector<std::string> architectures;  // as in the file; may be empty

  DecoderDescription decoder;  // what is computed

  // [num_labels], if decoder.head is kLabels: the names of the rows of score, "LABEL_<row>" where
  // the file has none.
  std::vector<std::string> labels;
  std::string problem_type;  // as in the file, such as "regression"; may be empty

  std::optional<int64_t> bos_token_id;
  std::vector<int64_t> eos_token_id;  // one, several or none
  std::optional<int64_t> pad_token_id;
  std::optional<DType> dtype;  // `dtype` or `torch_dtype`: information, the tensors decide
};

// Reads the text of a config.json, in the key style of transformers 4 or 5. A family's own keys and
// defaults are in families/.
// Errors, each naming the key and the value:
// - INVALID_ARGUMENT: not JSON or nested deeper than 64, a missing required key, a wrong JSON type,
//   a value out of range (hidden_size 1 .. 2^20, intermediate_size and num_attention_heads *
//   head_dim .. 2^22, num_hidden_layers .. 4096, vocab_size .. 2^28, max_position_embeddings ..
//   2^30, experts of all layers .. 2^17), heads that do not divide, an odd number of rotated
//   elements, an eos_token_id outside the vocabulary, contradictory values of one option in its
//   places.
// - UNIMPLEMENTED: a model_type, an architecture or an option that this library does not compute
//   (quantization_config, towers for images and sound, encoder-decoders, other RoPE types).
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view json);

// config.decoder.
absl::StatusOr<DecoderDescription> DescribeDecoder(const ModelConfig& config);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_MODEL_CONFIG_H_
