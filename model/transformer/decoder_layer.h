// One decoder layer, the same function for every family.
#ifndef PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
#define PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_

#include "absl/types/span.h"
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
  absl::Span<const SequenceSlice> slices;  // cover the rows
  const Activations& activations;          // of m rows; cos and sin filled
};

// out = norm(x): x [m, d], out [m, d]; rows in parallel.
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               const LinearInput& out);
void ApplyNorm(const StepContext& step, const NormWeights& norm, MatrixView<const float> x,
               MatrixView<float> out);

// The pre-norm decoder block (Vaswani et al. 2017 with the norms before the sublayers, as GPT-2 and
// Llama):
//   x += o_proj(attention(q, k, v of norm(x)))
//   x += down_proj(act(gate_proj(norm(x))) * up_proj(norm(x)))       plain:
//   down_proj(act(up_proj(norm(x))))
// hidden_states [m, d] is x, in and out. The keys and values of the rows are written to kv_layer.
// Does not allocate.
void RunDecoderLayer(const StepContext& step, const LayerWeights& weights, const KvLayer& kv_layer,
                     MatrixView<float> hidden_states);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_DECODER_LAYER_H_
