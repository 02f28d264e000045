#include "model/transformer/activations.h"

#include <algorithm>
#include <cstddef>

#include "model/base/check.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::StatusOr<LinearInput> NewLinearInput(int64_t rows, int64_t cols, Precision precision,
                                           HugePageArena& arena) {
  PHYLLO_ASSIGN_OR_RETURN(std::byte* const data,
                          arena.Allocate(LinearInput::BytesFor(rows, cols, precision)));
  return LinearInput{.precision = precision, .data = data, .rows = rows, .cols = cols};
}

absl::StatusOr<MatrixView<float>> NewMatrix(int64_t rows, int64_t cols, HugePageArena& arena) {
  const int64_t stride = LinearInputStride(cols, Precision::kF32);
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> data, arena.AllocateSpan<float>(rows * stride));
  return MatrixView<float>{.data = data.data(), .rows = rows, .cols = cols, .stride = stride};
}

// Columns of the buffers that a layer uses.
struct LayerColumns {
  explicit LayerColumns(const LayerDescription& layer)
      : attention(layer.attention.num_attention_heads * layer.attention.head_dim),
        qkv(attention + 2 * layer.attention.num_key_value_heads * layer.attention.head_dim),
        feed_forward(layer.feed_forward.experts.has_value() ? 0
                                                            : layer.feed_forward.intermediate_size),
        gate_up((layer.feed_forward.gated ? 2 : 1) * feed_forward) {}

  void Widen(const LayerColumns& other) {
    attention = std::max(attention, other.attention);
    qkv = std::max(qkv, other.qkv);
    feed_forward = std::max(feed_forward, other.feed_forward);
    gate_up = std::max(gate_up, other.gate_up);
  }

  int64_t attention;
  int64_t qkv;
  int64_t feed_forward;
  int64_t gate_up;
};

// The memory of `wide` as rows of fewer columns.
LinearInput Narrow(LinearInput wide, int64_t cols) {
  PHYLLO_CHECK(cols <= wide.cols);
  wide.cols = cols;
  return wide;
}

}  // namespace

absl::StatusOr<Activations> Activations::Create(const DecoderDescription& description,
                                                const ModelPrecision& precision, int64_t max_rows,
                                                HugePageArena& arena) {
  PHYLLO_CHECK(!description.layers.empty() &&
               static_cast<int64_t>(description.ropes.size()) <= kMaxRopes);
  LayerColumns columns(description.layers[0]);
  for (const LayerDescription& layer : description.layers) columns.Widen(LayerColumns(layer));
  const int64_t hidden_size = description.hidden_size;
  const Precision attention_input = InputPrecision(precision.attention);
  const Precision feed_forward_input = InputPrecision(precision.feed_forward);
  Activations result;
  PHYLLO_ASSIGN_OR_RETURN(
      std::byte* const normed,
      arena.Allocate(std::max(LinearInput::BytesFor(max_rows, hidden_size, attention_input),
                              LinearInput::BytesFor(max_rows, hidden_size, feed_forward_input))));
  result.normed = {
      .precision = attention_input, .data = normed, .rows = max_rows, .cols = hidden_size};
  result.feed_forward_input = {
      .precision = feed_forward_input, .data = normed, .rows = max_rows, .cols = hidden_size};
  PHYLLO_ASSIGN_OR_RETURN(result.update, NewMatrix(max_rows, hidden_size, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.qkv, NewMatrix(max_rows, columns.qkv, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.attention,
                          NewLinearInput(max_rows, columns.attention, attention_input, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.gate_up, NewMatrix(max_rows, columns.gate_up, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.feed_forward, NewLinearInput(max_rows, columns.feed_forward,
                                                              feed_forward_input, arena));
  PHYLLO_ASSIGN_OR_RETURN(
      result.experts, ExpertActivations::Create(description, feed_forward_input, max_rows, arena));
  for (size_t i = 0; i < description.ropes.size(); ++i) {
    const int64_t cols = description.ropes[i].rotary_dim / 2;
    PHYLLO_ASSIGN_OR_RETURN(result.ropes[i].cos, NewMatrix(max_rows, cols, arena));
    PHYLLO_ASSIGN_OR_RETURN(result.ropes[i].sin, NewMatrix(max_rows, cols, arena));
  }
  return result;
}

Activations Activations::FirstRows(int64_t rows) const {
  Activations result = {.normed = normed.SubRows(0, rows),
                        .feed_forward_input = feed_forward_input.SubRows(0, rows),
                        .update = update.SubRows(0, rows),
                        .qkv = qkv.SubRows(0, rows),
                        .attention = attention.SubRows(0, rows),
                        .gate_up = gate_up.SubRows(0, rows),
                        .feed_forward = feed_forward.SubRows(0, rows),
                        .experts = experts,
                        .ropes = ropes};
  for (RopeRows& rope : result.ropes)
    rope = {.cos = rope.cos.SubRows(0, rows), .sin = rope.sin.SubRows(0, rows)};
  return result;
}

Activations Activations::ForLayer(const LayerDescription& layer) const {
  const LayerColumns columns(layer);
  Activations result = *this;
  result.qkv = qkv.SubCols(0, columns.qkv);
  result.attention = Narrow(attention, columns.attention);
  result.gate_up = gate_up.SubCols(0, columns.gate_up);
  result.feed_forward = Narrow(feed_forward, columns.feed_forward);
  if (layer.feed_forward.experts.has_value()) {
    result.experts = experts.ForLayer(layer, normed.rows);
    result.feed_forward_input = result.experts.router_input;
  }
  return result;
}

}  // namespace phyllo
