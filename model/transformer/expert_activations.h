// The intermediate results of a mixture of experts: what Activations is to the rest of a layer.
#ifndef PHYLLO_MODEL_TRANSFORMER_EXPERT_ACTIVATIONS_H_
#define PHYLLO_MODEL_TRANSFORMER_EXPERT_ACTIVATIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/onednn/packed_linear.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Views of buffers for m rows that are served by r experts each, e + s experts in all (as in
// expert_routing.h); the layers of a step use the same ones in turn. Owns nothing.
struct ExpertActivations {
  // Buffers for max_rows rows, in `arena`, as large as the layer with the most or widest experts
  // needs, for experts that read inputs in `precision`; empty if no layer has experts.
  // RESOURCE_EXHAUSTED when memory runs out.
  static absl::StatusOr<ExpertActivations> Create(const DecoderDescription& description,
                                                  Precision precision, int64_t max_rows,
                                                  HugePageArena& arena);

  // The same memory for `rows` rows of a layer with experts. Requires rows <= max_rows and a layer
  // of the description.
  ExpertActivations ForLayer(const LayerDescription& layer, int64_t rows) const;

  LinearInput router_input;         // [m, d], f32 in every precision
  MatrixView<float> router_logits;  // [m, e]
  MatrixView<int32_t> experts;      // [m, r]
  MatrixView<float> weights;        // [m, r]
  MatrixView<int32_t> slots;        // [m, r]
  absl::Span<int64_t> first_slot;   // [e + s + 1]

  // By slot: the rows of one expert lie behind each other.
  LinearInput input;                   // [m * r, d]
  MatrixView<float> gate_up;           // [m * r, 2 * intermediate_size]; not gated: half of it
  LinearInput feed_forward;            // [m * r, intermediate_size]
  MatrixView<float> output;            // [m * r, d]; in the memory of `input`, which it ends
  absl::Span<LinearProduct> products;  // [e + s]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_EXPERT_ACTIVATIONS_H_
