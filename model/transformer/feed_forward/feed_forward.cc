#include "model/transformer/feed_forward/feed_forward.h"

#include <cstdint>

#include "absl/types/span.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/packed_linear.h"
#include "model/ops/activation.h"
#include "model/ops/experts/expert_routing.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/expert_activations.h"
#include "model/transformer/row_blocks.h"

namespace phyllo {
namespace {

ActivationKind KindOf(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return ActivationKind::kSilu;
    case Activation::kGeluTanh:
      return ActivationKind::kGeluTanh;
    case Activation::kGeluErf:
      return ActivationKind::kGelu;
    case Activation::kRelu:
      return ActivationKind::kRelu;
  }
  return ActivationKind::kSilu;
}

// out = act(gate) * up, the columns of gate_up being gate | up; not gated: act(gate_up). Leaves
// gate_up in no defined state.
void ActivateRows(const StepContext& step, const FeedForwardDescription& feed_forward,
                  MatrixView<float> gate_up, const LinearInput& out) {
  const int64_t size = feed_forward.intermediate_size;
  const ActivationKind kind = KindOf(feed_forward.activation);
  ForEachRowBlock(step.pool, gate_up.rows, gate_up.cols, [&](int64_t begin, int64_t count) {
    const MatrixView<float> rows = gate_up.SubRows(begin, count);
    const LinearInput out_rows = out.SubRows(begin, count);
    if (feed_forward.gated)
      ActivateGated(step.kernels, kind, rows.SubCols(0, size), rows.SubCols(size, size), out_rows);
    else
      Activate(step.kernels, kind, rows, out_rows);
  });
}

// out = act(gate) * up, gate and up being the halves of gate_up_proj(input), which are nowhere
// written whole. Requires that they consist of whole panels. In kInt8 the scale of a row needs all
// of it first: `results` [m, intermediate_size] takes it in f32.
void MultiplyAndActivate(const StepContext& step, const FeedForwardDescription& feed_forward,
                         const PackedLinear& gate_up_proj, const LinearInput& input,
                         MatrixView<float> results, const LinearInput& out) {
  const ActivationKind kind = KindOf(feed_forward.activation);
  const bool has_scales = out.precision == Precision::kInt8;
  gate_up_proj.ForwardTilePairs(
      input,
      [&](MatrixView<float> gate, MatrixView<float> up, int64_t row, int64_t column,
          int /*worker*/) {
        if (has_scales) {
          ActivateGated(step.kernels, kind, gate, up,
                        results.SubRows(row, gate.rows).SubCols(column, gate.cols));
        } else {
          ActivateGatedColumns(step.kernels, kind, gate, up, column, out.SubRows(row, gate.rows));
        }
      },
      step.pool, step.linear_scratch);
  if (!has_scales) return;
  ForEachRowBlock(step.pool, results.rows, results.cols, [&](int64_t begin, int64_t count) {
    RoundRows(step.kernels, results.SubRows(begin, count), out.SubRows(begin, count));
  });
}

// Chooses the experts of every row and brings the rows of each together: fills a.weights, a.slots,
// a.first_slot and a.input.
void RouteToExperts(const StepContext& step, const ExpertsWeights& weights,
                    const ExpertActivations& a) {
  weights.router.Forward(a.router_input, a.router_logits, step.pool, step.linear_scratch);
  const int64_t rows = a.router_input.rows;
  // An exponential costs about as much as 8 multiplications.
  ForEachRowBlock(step.pool, rows, 8 * a.router_logits.cols, [&](int64_t begin, int64_t count) {
    RouteRows(step.kernels, weights.rule, a.router_logits.SubRows(begin, count),
              a.experts.SubRows(begin, count), a.weights.SubRows(begin, count));
  });
  const int64_t slot_count = rows * a.slots.cols;
  GroupByExpert(absl::MakeConstSpan(a.experts.data, slot_count),
                absl::MakeSpan(a.slots.data, slot_count), a.first_slot);
  const MatrixView<const float> x = a.router_input.AsF32();
  ForEachRowBlock(step.pool, rows, x.cols * a.slots.cols, [&](int64_t begin, int64_t count) {
    ScatterRows(step.kernels, x.SubRows(begin, count), a.slots.SubRows(begin, count), a.input);
  });
}

// y = the product of every expert that has rows, `matrix` saying which of its weights.
void MultiplyByExperts(const StepContext& step, const ExpertsWeights& weights,
                       PackedLinear FeedForwardWeights::*matrix, const ExpertActivations& a,
                       const LinearInput& x, MatrixView<float> y) {
  size_t count = 0;
  for (size_t i = 0; i < weights.experts.size(); ++i) {
    const int64_t begin = a.first_slot[i];
    const int64_t rows = a.first_slot[i + 1] - begin;
    if (rows == 0) continue;
    a.products[count++] = {.linear = &(weights.experts[i].*matrix),
                           .x = x.SubRows(begin, rows),
                           .y = y.SubRows(begin, rows)};
  }
  PackedLinear::ForwardAll(a.products.first(count), step.pool, step.linear_scratch);
}

void RunExperts(const StepContext& step, const LayerWeights& layer, const ExpertsWeights& weights,
                const ExpertActivations& a, const LayerTarget& target) {
  RouteToExperts(step, weights, a);
  MultiplyByExperts(step, weights, &FeedForwardWeights::gate_up_proj, a, a.input, a.gate_up);
  ActivateRows(step, layer.description.feed_forward, a.gate_up, a.feed_forward);
  MultiplyByExperts(step, weights, &FeedForwardWeights::down_proj, a, a.feed_forward, a.output);
  ForEachRowBlock(
      step.pool, target.y.rows, a.output.cols * a.slots.cols, [&](int64_t begin, int64_t count) {
        CombineRows(step.kernels, a.output, a.slots.SubRows(begin, count),
                    a.weights.SubRows(begin, count), target.add, target.y.SubRows(begin, count));
      });
}

}  // namespace

bool MultipliesTilePairs(const FeedForwardDescription& description) {
  return description.gated && description.intermediate_size % kLinearPanel == 0;
}

void RunFeedForward(const StepContext& step, const LayerWeights& weights, const Activations& a,
                    const LayerTarget& target) {
  if (weights.experts.has_value())
    return RunExperts(step, weights, *weights.experts, a.experts, target);
  const FeedForwardWeights& feed_forward = *weights.feed_forward;
  const FeedForwardDescription& description = weights.description.feed_forward;
  if (MultipliesTilePairs(description)) {
    MultiplyAndActivate(step, description, feed_forward.gate_up_proj, a.feed_forward_input,
                        a.gate_up.SubCols(0, description.intermediate_size), a.feed_forward);
  } else {
    feed_forward.gate_up_proj.Forward(a.feed_forward_input, a.gate_up, step.pool,
                                      step.linear_scratch);
    ActivateRows(step, description, a.gate_up, a.feed_forward);
  }
  Project(step, feed_forward.down_proj, a.feed_forward, target);
}

}  // namespace phyllo
