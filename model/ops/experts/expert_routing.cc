#include "model/ops/experts/expert_routing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/ops/linear_input_rows.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {
namespace {

// The k largest of p [e], largest first, into experts and weights [k]. One pass that keeps the best
// so far sorted: a value moves before those that are smaller, so that equals stay in the order of
// their numbers, and a NaN moves before none.
void ChooseLargest(const float* p, int64_t e, int64_t k, int32_t* experts, float* weights) {
  int64_t count = 0;
  for (int64_t expert = 0; expert < e; ++expert) {
    if (count == k && !(p[expert] > weights[k - 1])) continue;
    int64_t place = count < k ? count++ : k - 1;
    for (; place > 0 && p[expert] > weights[place - 1]; --place) {
      weights[place] = weights[place - 1];
      experts[place] = experts[place - 1];
    }
    weights[place] = p[expert];
    experts[place] = static_cast<int32_t>(expert);
  }
}

}  // namespace

void RouteRows(const SimdKernels& kernels, const RoutingRule& rule, MatrixView<float> logits,
               MatrixView<int32_t> experts, MatrixView<float> weights) {
  const int64_t k = rule.num_experts_per_tok;
  PHYLLO_CHECK(k >= 1 && k <= logits.cols && experts.cols == rule.assignments_per_row() &&
               weights.cols == experts.cols);
  PHYLLO_CHECK(experts.rows == logits.rows && weights.rows == logits.rows);
  for (int64_t i = 0; i < logits.rows; ++i) {
    float* const p = logits.Row(i);
    float* const row_weights = weights.Row(i);
    kernels.table().softmax(p, logits.cols, p);
    ChooseLargest(p, logits.cols, k, experts.Row(i), row_weights);
    if (rule.norm_topk_prob) {
      float sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += row_weights[j];
      for (int64_t j = 0; j < k; ++j) row_weights[j] /= sum;
    }
    for (int64_t j = 0; j < rule.num_shared_experts; ++j) {
      experts.Row(i)[k + j] = static_cast<int32_t>(logits.cols + j);
      row_weights[k + j] = 1.0f;
    }
  }
}

void GroupByExpert(absl::Span<const int32_t> experts, absl::Span<int32_t> slots,
                   absl::Span<int64_t> first_slot) {
  PHYLLO_CHECK(slots.size() == experts.size() && first_slot.size() >= 2);
  // Counts, then sums of the counts before: while slots are given out, first_slot[i + 1] is the
  // next free one of expert i, and ends as the first one of expert i + 1.
  std::fill(first_slot.begin(), first_slot.end(), 0);
  for (const int32_t expert : experts) {
    const size_t next = static_cast<size_t>(expert) + 2;
    if (next < first_slot.size()) ++first_slot[next];
  }
  for (size_t i = 2; i < first_slot.size(); ++i) first_slot[i] += first_slot[i - 1];
  for (size_t a = 0; a < experts.size(); ++a)
    slots[a] = static_cast<int32_t>(first_slot[experts[a] + 1]++);
}

void ScatterRows(const SimdKernels& kernels, MatrixView<const float> x,
                 MatrixView<const int32_t> slots, const LinearInput& out) {
  PHYLLO_CHECK(out.cols == x.cols && slots.rows == x.rows);
  const auto round = kernels.table().round[PrecisionIndex(out.precision)];
  for (int64_t i = 0; i < x.rows; ++i) {
    const std::byte* const first = RowOf(out, slots.Row(i)[0]);
    const float scale = round(x.Row(i), x.cols, RowOf(out, slots.Row(i)[0]));
    FinishRow(out, slots.Row(i)[0], scale);
    for (int64_t j = 1; j < slots.cols; ++j)
      std::memcpy(RowOf(out, slots.Row(i)[j]), first, static_cast<size_t>(out.row_bytes()));
  }
}

void CombineRows(const SimdKernels& kernels, MatrixView<const float> x,
                 MatrixView<const int32_t> slots, MatrixView<const float> weights, bool add,
                 MatrixView<float> y) {
  PHYLLO_CHECK(y.cols == x.cols && slots.rows == y.rows && weights.rows == y.rows &&
               weights.cols == slots.cols);
  for (int64_t i = 0; i < y.rows; ++i) {
    kernels.table().weighted_sum(x.data, x.stride, slots.Row(i), weights.Row(i), slots.cols, x.cols,
                                 add, y.Row(i));
  }
}

}  // namespace phyllo
