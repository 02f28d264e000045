// The structure of a model: what `phyllo inspect` shows.
#ifndef PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_H_
#define PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/tensor/dtype.h"

namespace phyllo {

// One module. Shapes are symbolic in the number of tokens n, such as "[n, 192]".
struct ModuleSummary {
  int64_t layer = -1;  // 0-based; -1 outside the layers
  std::string name;    // such as "layers.0.self_attn.q_proj"
  std::string kind;    // such as "Linear", "RMSNorm", "GQA 6:2, RoPE"
  std::string input_shape;
  std::string output_shape;
  int64_t parameter_count = 0;
  int64_t weight_bytes = 0;  // in the file; 0 for a tied head
  std::string weight_type;   // of its matrix in the file, or else of its vector, such as "Q4_K"
};

// What the weights take in memory in one precision, as `--precision NAME` chooses it.
struct PackedSummary {
  std::string precision;  // "f32", "bf16", "int8" or "int4"
  int64_t weight_bytes = 0;
};

// A plain value.
struct ModelSummary {
  std::vector<ModuleSummary> modules;  // in the order of computation
  int64_t parameter_count = 0;         // a tied matrix counts once
  int64_t weight_bytes = 0;
  // Set by whoever knows how weights are packed: empty as SummarizeModel makes it.
  std::vector<PackedSummary> packed;
  // Bytes of keys and values that one token takes in all layers: 2 * sum(kv * hd) * bytes of an
  // element, in int8 with a scale of 4 bytes a head.
  int64_t kv_bytes_per_token_f32 = 0;
  int64_t kv_bytes_per_token_bf16 = 0;
  int64_t kv_bytes_per_token_int8 = 0;
};

// Describes the model; reads no weights. Bytes are those of the checkpoint's tensors, or of `dtype`
// where `checkpoint` is null or does not hold the tensor.
ModelSummary SummarizeModel(const DecoderDescription& description, const Checkpoint* checkpoint,
                            DType dtype);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_H_
