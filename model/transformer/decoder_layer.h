// One decoder layer, the same function for every family.
#ifndef PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
#define PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_

#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/onednn/linear_kernels.h"
#include "model/ops/attention.h"
#include "model/ops/simd_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/activations.h"
#include "model/transformer/decoder_weights.h"

namespace phyllo {

// What all layers of a step share. Borrowed.
struct StepContext {
  const SimdKernels& kernels;
  ThreadPool& pool;
  LinearScratch& linear_scratch;
  AttentionScratch& attention_scratch;
  absl::Span<const RopeDescription> ropes;
  absl::Span<const SequenceSlice> slices;  // cover the rows
  const Activations& activations;          // of m rows; ropes filled
};

// out = norm(x): x [m, d], out [m, d]; rows in parallel.
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               const LinearInput& out);
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               MatrixView<float> out);

// The decoder block (Vaswani et al. 2017), with r = residual_multiplier and every norm only where
// the layer has it:
//   attention(y) = o_proj(softmax attention of the q, k, v of y)
//   feed_forward(y) = down_proj(act(gate_proj(y)) * up_proj(y)), not gated:
//   down_proj(act(up_proj(y))) sequential: x += r * output_norm(attention(input_norm(x)))
//               x += r * output_norm(feed_forward(norm(x)))
//   parallel:   x += r * (attention(input_norm(x)) + feed_forward(norm(x)))
// hidden_states [m, d] is x, in and out. The keys and values of the rows are written to kv_layer.
// Does not allocate.
void RunDecoderLayer(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                     MatrixView<float> hidden_states);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
