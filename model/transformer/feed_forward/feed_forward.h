// The feed-forward half of a decoder layer: one network for all rows, or a mixture of experts.
#ifndef PHYLLO_MODEL_TRANSFORMER_FEED_FORWARD_FEED_FORWARD_H_
#define PHYLLO_MODEL_TRANSFORMER_FEED_FORWARD_FEED_FORWARD_H_

#include "model/config/decoder_description.h"
#include "model/transformer/activations.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/step_context.h"

namespace phyllo {

// target = feed_forward(x), x [m, d] being what a.feed_forward_input holds:
//   network(x) = down_proj(act(gate_proj(x)) * up_proj(x)), not gated: down_proj(act(up_proj(x)))
//   without experts: network(x)
//   with experts:    sum over the experts j of the row of weight_j * network_j(x), by
//                    expert_routing.h
//
// Experts: the rows of one expert are brought together and make one product each, and all products
// of a layer are shared out over the threads at once, since few rows an expert would not keep them
// busy one by one. A product does not look at the neighbours of a row and a row adds its experts in
// the order of its own choice, so that a row's result depends on that row alone.
//
// The router works in f32 in every precision: its inputs, its weights, its logits. It decides, and
// a decision has no small errors: where the second-best expert is nearly as probable, inputs
// rounded to bf16 choose another expert, and the row becomes another one. In f32 the choice flips
// only where the reference's own rounding could flip it, and the router is a thousandth of the
// work.
//
// `a` is for the rows of the step and this layer. Does not allocate.
void RunFeedForward(const StepContext& step, const LayerWeights& weights, const Activations& a,
                    const LayerTarget& target);

// Whether a network without experts has its gate and up multiplied as soon as both are there, tile
// by tile (PackedLinear::ForwardTilePairs): if they consist of whole panels. Else they are written
// out first.
bool MultipliesTilePairs(const FeedForwardDescription& description);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_FEED_FORWARD_FEED_FORWARD_H_
