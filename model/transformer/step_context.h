// What the parts of a decoder layer share.
#ifndef PHYLLO_MODEL_TRANSFORMER_STEP_CONTEXT_H_
#define PHYLLO_MODEL_TRANSFORMER_STEP_CONTEXT_H_

#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/packed_linear.h"
#include "model/ops/attention.h"
#include "model/ops/simd_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/activations.h"

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

// Where a half of a layer leaves its result.
struct LayerTarget {
  MatrixView<float> y;  // [m, d]
  bool add = false;     // to what y holds
};

// target = linear(x).
inline void Project(const StepContext& step, const PackedLinear& linear, const LinearInput& x,
                    const LayerTarget& target) {
  if (target.add)
    linear.ForwardAdd(x, target.y, step.pool, step.linear_scratch);
  else
    linear.Forward(x, target.y, step.pool, step.linear_scratch);
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_STEP_CONTEXT_H_
