// A config.json, and all that is derived from one that is accepted.

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/check.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/rope.h"
#include "model/config/summary/model_summary.h"
#include "model/tensor/dtype.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view json(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<phyllo::ModelConfig> config = phyllo::ParseModelConfig(json);
  if (!config.ok()) return 0;
  const phyllo::DecoderDescription& decoder = config->decoder;
  const phyllo::AttentionDescription& attention = decoder.layers.at(0).attention;
  PHYLLO_CHECK(attention.num_attention_heads % attention.num_key_value_heads == 0);
  constexpr int64_t kFewLayers = 64;  // for speed
  constexpr int64_t kFewExperts = 256;
  constexpr int64_t kSmallHead = 4096;
  if (decoder.num_hidden_layers() > kFewLayers || attention.head_dim > kSmallHead) return 0;
  const auto& experts = decoder.layers[0].feed_forward.experts;
  if (experts.has_value() && experts->num_experts > kFewExperts) return 0;
  const phyllo::ModelSummary summary =
      phyllo::SummarizeModel(decoder, nullptr, phyllo::DType::kF32);
  PHYLLO_CHECK(summary.parameter_count > 0 && summary.weight_bytes == 4 * summary.parameter_count);
  for (const phyllo::RopeDescription& rope : decoder.ropes) {
    const auto frequencies = phyllo::RopeFrequencies::Create(rope.parameters, rope.rotary_dim,
                                                             decoder.max_position_embeddings);
    PHYLLO_CHECK(!frequencies.ok() || frequencies->rotary_dim() == rope.rotary_dim);
  }
  return 0;
}
