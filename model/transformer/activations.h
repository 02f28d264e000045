// The intermediate results of a step: every buffer the layers write, made once.
#ifndef PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_
#define PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "model/config/decoder_description.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/expert_activations.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// The rotation of each row's position by one RopeDescription: cos, sin [m, rotary_dim / 2].
struct RopeRows {
  MatrixView<float> cos;
  MatrixView<float> sin;
};

// Views of buffers for m rows; the layers of a step use the same ones in turn. Owns nothing. What a
// matrix product reads is a LinearInput in the input precision of the module whose weights it
// meets, what it writes is f32.
struct Activations {
  static constexpr int64_t kMaxRopes = 2;

  // Buffers for max_rows rows, in `arena`, as wide as the widest layer of the description needs.
  // Requires at least one layer and at most kMaxRopes ropes. RESOURCE_EXHAUSTED when memory runs
  // out.
  static absl::StatusOr<Activations> Create(const DecoderDescription& description,
                                            const ModelPrecision& precision, int64_t max_rows,
                                            HugePageArena& arena);

  // The first `rows` rows of every buffer. Requires rows <= max_rows.
  Activations FirstRows(int64_t rows) const;

  // The same rows, as wide as `layer` needs them. Requires a layer of the description.
  Activations ForLayer(const LayerDescription& layer) const;

  LinearInput normed;              // [m, d], what the projections of attention read
  LinearInput feed_forward_input;  // [m, d], what the feed-forward reads: in the memory of
                                   // `normed`, but with experts that of experts.router_input
  MatrixView<float> update;  // [m, d], what a half makes before it is added to the residual stream
  MatrixView<float> qkv;     // [m, (h + 2 kv) * hd], columns q | k | v
  LinearInput attention;     // [m, h * hd]
  MatrixView<float>
      gate_up;  // [m, 2 * intermediate_size], columns gate | up; not gated: [m, intermediate_size]
  LinearInput feed_forward;               // [m, intermediate_size]
  ExpertActivations experts;              // in a layer that has experts
  std::array<RopeRows, kMaxRopes> ropes;  // by index in DecoderDescription::ropes
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_
