// The intermediate results of a step: every buffer the layers write, made once.
#ifndef PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_
#define PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "model/config/decoder_description.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Views of buffers for m rows; the layers of a step use the same ones in turn. Owns nothing. What a
// matrix product reads is a LinearInput, what it writes is f32.
struct Activations {
  // Buffers for max_rows rows, in `arena`. Requires that all layers of the description are of the
  // same sizes, and that there is at least one. RESOURCE_EXHAUSTED when memory runs out.
  static absl::StatusOr<Activations> Create(const DecoderDescription& description,
                                            Precision precision, int64_t max_rows,
                                            HugePageArena& arena);

  // The first `rows` rows of every buffer. Requires rows <= max_rows.
  Activations FirstRows(int64_t rows) const;

  LinearInput normed;     // [m, d]
  MatrixView<float> qkv;  // [m, (h + 2 kv) * hd], columns q | k | v
  LinearInput attention;  // [m, h * hd]
  MatrixView<float>
      gate_up;  // [m, 2 * intermediate_size], columns gate | up; not gated: [m, intermediate_size]
  LinearInput feed_forward;  // [m, intermediate_size]
  MatrixView<float>
      cos;  // [m, rotary_dim / 2], the rotation of each row's position; no columns without RoPE
  MatrixView<float> sin;  // [m, rotary_dim / 2]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_ACTIVATIONS_H_
