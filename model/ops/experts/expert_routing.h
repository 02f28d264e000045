#ifndef PHYLLO_MODEL_OPS_EXPERTS_EXPERT_ROUTING_H_
#define PHYLLO_MODEL_OPS_EXPERTS_EXPERT_ROUTING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "model/ops/simd_kernels.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Mixture of experts (Shazeer et al. 2017; as transformers' Mixtral and Qwen3-MoE): which experts
// serve a row, how rows are grouped by expert, and how the experts' results become one row again.
//
// A row is served by r = num_experts_per_tok + num_shared_experts experts; place j of its r is an
// assignment. Routed experts are numbered 0 .. e - 1, shared ones e .. e + s - 1.
//
// All functions here allocate nothing and are thread-safe for disjoint rows of their outputs. What
// a row gets depends on that row only.

struct RoutingRule {
  int64_t num_experts_per_tok = 0;  // 1 .. e
  bool norm_topk_prob = false;      // divide the chosen probabilities by their sum
  int64_t num_shared_experts = 0;   // serve every row with weight 1

  int64_t assignments_per_row() const { return num_experts_per_tok + num_shared_experts; }
};

// p = softmax(logits) over all e experts; the row goes to the num_experts_per_tok experts of the
// largest p, in descending order, the lower number first on a tie, with their p as weights; then to
// the shared ones. logits [n, e] becomes p. experts [n, r]; weights [n, r]. A row with a NaN goes
// to the first experts, with NaN as weights.
void RouteRows(const SimdKernels& kernels, const RoutingRule& rule, MatrixView<float> logits,
               MatrixView<int32_t> experts, MatrixView<float> weights);

// Sorts assignments by expert, those of one expert in the order of their rows (a counting sort):
// assignment a goes to slot slots[a], and expert i has the slots [first_slot[i], first_slot[i +
// 1]). experts, slots [n * r]; first_slot [e + s + 1]. Requires 0 <= experts[a] < e + s.
void GroupByExpert(absl::Span<const int32_t> experts, absl::Span<int32_t> slots,
                   absl::Span<int64_t> first_slot);

// Copies row i of x to all its slots, rounded to out's precision, and its padding. x [n, d], slots
// [n, r], out [all slots, d].
void ScatterRows(const SimdKernels& kernels, MatrixView<const float> x,
                 MatrixView<const int32_t> slots, const LinearInput& out);

// y[i] = sum over j of weights[i, j] * x[slots[i, j]], in the order of j, which is one fixed order
// for a row; with `add` the sum is added to what y[i] holds. x [all slots, d], slots, weights [n,
// r], y [n, d].
void CombineRows(const SimdKernels& kernels, MatrixView<const float> x,
                 MatrixView<const int32_t> slots, MatrixView<const float> weights, bool add,
                 MatrixView<float> y);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_EXPERTS_EXPERT_ROUTING_H_
