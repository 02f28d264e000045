#include "model/transformer/matmul_bound/matmul_bound.h"

#include <cstddef>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/onednn/packed_linear.h"
#include "model/ops/experts/expert_routing.h"
#include "model/ops/simd_kernels.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/feed_forward/feed_forward.h"

namespace phyllo {
namespace {

// Takes tiles and does nothing with them: the least that can be done.
constexpr auto kIgnoreTiles = [](const auto&...) {};

}  // namespace

absl::StatusOr<std::unique_ptr<MatmulBound>> MatmulBound::Create(
    const DecoderDescription& description, const Checkpoint& checkpoint, ThreadPool& pool,
    const ModelPrecision& precision, int64_t max_rows) {
  auto bound = std::unique_ptr<MatmulBound>(new MatmulBound(pool));
  PHYLLO_ASSIGN_OR_RETURN(bound->weights_,
                          DecoderWeights::Load(description, checkpoint,
                                               {.precision = precision,
                                                .first_layer = 0,
                                                .last_layer = description.num_hidden_layers(),
                                                .head = true,
                                                .progress = nullptr},
                                               pool));
  PHYLLO_ASSIGN_OR_RETURN(bound->activations_,
                          Activations::Create(description, precision, max_rows, bound->arena_));
  PHYLLO_ASSIGN_OR_RETURN(LinearScratch scratch,
                          LinearScratch::Create(pool.num_threads(), bound->arena_));
  bound->scratch_ = std::make_unique<LinearScratch>(std::move(scratch));
  const int64_t d = description.hidden_size;
  const Precision head_input = InputPrecision(precision.lm_head);
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const head_rows,
                          bound->arena_.Allocate(LinearInput::BytesFor(max_rows, d, head_input)));
  bound->head_input_ = {.precision = head_input, .data = head_rows, .rows = max_rows, .cols = d};
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> hidden_states,
                          bound->arena_.AllocateSpan<float>(max_rows * d));
  bound->hidden_states_ = {.data = hidden_states.data(), .rows = max_rows, .cols = d, .stride = d};
  return bound;
}

void MatmulBound::MultiplyByExperts(const ExpertsWeights& weights, const ExpertActivations& a) {
  weights.router.Forward(a.router_input, a.router_logits, pool_, *scratch_);
  // Experts chosen at random, as by a router with random weights: how many are busy decides how
  // much of the weights is read. The choice costs little beside the products.
  std::uniform_real_distribution<float> uniform;
  for (int64_t i = 0; i < a.router_logits.rows; ++i) {
    for (int64_t j = 0; j < a.router_logits.cols; ++j) a.router_logits.Row(i)[j] = uniform(random_);
  }
  RouteRows(SimdKernels::ForThisCpu(), weights.rule, a.router_logits, a.experts, a.weights);
  const int64_t slot_count = a.slots.rows * a.slots.cols;
  GroupByExpert(absl::MakeConstSpan(a.experts.data, slot_count),
                absl::MakeSpan(a.slots.data, slot_count), a.first_slot);
  const auto run = [&](PackedLinear FeedForwardWeights::*matrix, const LinearInput& x,
                       MatrixView<float> y) {
    for (size_t i = 0; i < weights.experts.size(); ++i) {
      const int64_t begin = a.first_slot[i];
      const int64_t rows = a.first_slot[i + 1] - begin;
      a.products[i] = {.linear = &(weights.experts[i].*matrix),
                       .x = x.SubRows(begin, rows),
                       .y = y.SubRows(begin, rows)};
    }
    PackedLinear::ForwardAll(a.products, pool_, *scratch_);
  };
  run(&FeedForwardWeights::gate_up_proj, a.input, a.gate_up);
  run(&FeedForwardWeights::down_proj, a.feed_forward, a.output);
}

void MatmulBound::MultiplyByGateAndUp(const LayerWeights& layer, const Activations& a) {
  const PackedLinear& gate_up_proj = layer.feed_forward->gate_up_proj;
  if (!MultipliesTilePairs(layer.description.feed_forward))
    return gate_up_proj.Forward(a.feed_forward_input, a.gate_up, pool_, *scratch_);
  gate_up_proj.ForwardTilePairs(a.feed_forward_input, kIgnoreTiles, pool_, *scratch_);
}

double MatmulBound::TimeStep(int64_t rows, int64_t logits_rows) {
  const MatrixView<float> hidden_states = hidden_states_.SubRows(0, rows);
  const absl::Time begin = absl::Now();
  for (const LayerWeights& layer : weights_.layers) {
    const Activations a = activations_.FirstRows(rows).ForLayer(layer.description);
    layer.qkv_proj.Forward(a.normed, a.qkv, pool_, *scratch_);
    layer.o_proj.ForwardAdd(a.attention, hidden_states, pool_, *scratch_);
    if (layer.feed_forward.has_value()) {
      MultiplyByGateAndUp(layer, a);
      layer.feed_forward->down_proj.ForwardAdd(a.feed_forward, hidden_states, pool_, *scratch_);
    } else {
      MultiplyByExperts(*layer.experts, a.experts);
    }
  }
  weights_.head->lm_head->ForwardTiles(head_input_.SubRows(0, logits_rows), kIgnoreTiles, pool_,
                                       *scratch_);
  return absl::ToDoubleSeconds(absl::Now() - begin);
}

}  // namespace phyllo
