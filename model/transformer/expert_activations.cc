#include "model/transformer/expert_activations.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "model/base/check.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

// Rows of f32 elements begin as far apart as those of a LinearInput: see LinearInputStride.
int64_t FloatStride(int64_t cols) { return LinearInputStride(cols, Precision::kF32); }

MatrixView<float> FloatMatrix(float* data, int64_t rows, int64_t cols) {
  return {.data = data, .rows = rows, .cols = cols, .stride = FloatStride(cols)};
}

// Sizes of the buffers that a layer with experts uses.
struct Sizes {
  Sizes() = default;
  explicit Sizes(const FeedForwardDescription& feed_forward)
      : num_experts(feed_forward.experts->num_experts),
        all_experts(num_experts + feed_forward.experts->num_shared_experts),
        assignments(feed_forward.experts->num_experts_per_tok +
                    feed_forward.experts->num_shared_experts),
        intermediate_size(feed_forward.intermediate_size),
        gate_up((feed_forward.gated ? 2 : 1) * intermediate_size) {}

  void Widen(const Sizes& other) {
    num_experts = std::max(num_experts, other.num_experts);
    all_experts = std::max(all_experts, other.all_experts);
    assignments = std::max(assignments, other.assignments);
    intermediate_size = std::max(intermediate_size, other.intermediate_size);
    gate_up = std::max(gate_up, other.gate_up);
  }

  int64_t num_experts = 0;
  int64_t all_experts = 0;
  int64_t assignments = 0;  // of a row
  int64_t intermediate_size = 0;
  int64_t gate_up = 0;  // columns
};

absl::StatusOr<LinearInput> NewLinearInput(int64_t rows, int64_t cols, Precision precision,
                                           HugePageArena& arena) {
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const data,
                          arena.Allocate(LinearInput::BytesFor(rows, cols, precision)));
  return LinearInput{.precision = precision, .data = data, .rows = rows, .cols = cols};
}

template <typename T>
absl::StatusOr<MatrixView<T>> NewDenseMatrix(int64_t rows, int64_t cols, HugePageArena& arena) {
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<T> data, arena.AllocateSpan<T>(rows * cols));
  return MatrixView<T>{.data = data.data(), .rows = rows, .cols = cols, .stride = cols};
}

}  // namespace

absl::StatusOr<ExpertActivations> ExpertActivations::Create(const DecoderDescription& description,
                                                            Precision precision, int64_t max_rows,
                                                            HugePageArena& arena) {
  static_assert(std::is_trivially_copyable_v<LinearProduct>, "lies in the arena");
  Sizes sizes;
  for (const LayerDescription& layer : description.layers) {
    if (layer.feed_forward.experts.has_value()) sizes.Widen(Sizes(layer.feed_forward));
  }
  ExpertActivations result;
  if (sizes.all_experts == 0) return result;
  const int64_t d = description.hidden_size;
  const int64_t slot_count = max_rows * sizes.assignments;
  PHYLLO_ASSIGN_OR_RETURN(result.router_input, NewLinearInput(max_rows, d, Precision::kF32, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.router_logits,
                          NewDenseMatrix<float>(max_rows, sizes.num_experts, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.experts,
                          NewDenseMatrix<int32_t>(max_rows, sizes.assignments, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.weights,
                          NewDenseMatrix<float>(max_rows, sizes.assignments, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.slots,
                          NewDenseMatrix<int32_t>(max_rows, sizes.assignments, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.first_slot, arena.AllocateSpan<int64_t>(sizes.all_experts + 1));
  PHYLLO_ASSIGN_OR_RETURN(result.products, arena.AllocateSpan<LinearProduct>(sizes.all_experts));

  PHYLLO_ASSIGN_OR_RETURN(
      std::byte* const output,
      arena.Allocate(std::max(LinearInput::BytesFor(slot_count, d, Precision::kF32),
                              LinearInput::BytesFor(slot_count, d, precision))));
  result.output = FloatMatrix(reinterpret_cast<float*>(output), slot_count, d);
  result.input = {.precision = precision, .data = output, .rows = slot_count, .cols = d};
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> gate_up,
                          arena.AllocateSpan<float>(slot_count * FloatStride(sizes.gate_up)));
  result.gate_up = FloatMatrix(gate_up.data(), slot_count, sizes.gate_up);
  PHYLLO_ASSIGN_OR_RETURN(result.feed_forward,
                          NewLinearInput(slot_count, sizes.intermediate_size, precision, arena));
  return result;
}

ExpertActivations ExpertActivations::ForLayer(const LayerDescription& layer, int64_t rows) const {
  const Sizes sizes(layer.feed_forward);
  const int64_t slot_count = rows * sizes.assignments;
  PHYLLO_CHECK(rows <= router_input.rows && slot_count <= output.rows &&
               sizes.gate_up <= gate_up.cols && sizes.intermediate_size <= feed_forward.cols);
  const auto dense = [rows](auto wide, int64_t cols) {
    wide.rows = rows;
    wide.cols = wide.stride = cols;
    return wide;
  };
  ExpertActivations result = *this;
  result.router_input = router_input.SubRows(0, rows);
  result.router_logits = dense(router_logits, sizes.num_experts);
  result.experts = dense(experts, sizes.assignments);
  result.weights = dense(weights, sizes.assignments);
  result.slots = dense(slots, sizes.assignments);
  result.first_slot = first_slot.first(sizes.all_experts + 1);
  result.products = products.first(sizes.all_experts);
  result.input = input.SubRows(0, slot_count);
  result.gate_up = FloatMatrix(gate_up.data, slot_count, sizes.gate_up);
  result.feed_forward.rows = slot_count;
  result.feed_forward.cols = sizes.intermediate_size;
  result.output = output.SubRows(0, slot_count);
  return result;
}

}  // namespace phyllo
