// One decoder layer, the same function for every family.
#ifndef PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
#define PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_

#include "model/ops/attention.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/step_context.h"

namespace phyllo {

// out = norm(x): x [m, d], out [m, d]; rows in parallel.
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               const LinearInput& out);
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               MatrixView<float> out);

// The decoder block (Vaswani et al. 2017), with r = residual_multiplier and every norm only where
// the layer has it:
//   attention(y) = o_proj(softmax attention of the q, k, v of y)
//   feed_forward(y): see feed_forward/feed_forward.h
//   sequential: x += r * output_norm(attention(input_norm(x)))
//               x += r * output_norm(feed_forward(norm(x)))
//   parallel:   x += r * (attention(input_norm(x)) + feed_forward(norm(x)))
// hidden_states [m, d] is x, in and out. The keys and values of the rows are written to kv_layer.
// Does not allocate.
void RunDecoderLayer(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                     MatrixView<float> hidden_states);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
