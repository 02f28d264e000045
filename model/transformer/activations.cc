#include "model/transformer/activations.h"

#include <cstddef>

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

}  // namespace

absl::StatusOr<Activations> Activations::Create(const DecoderDescription& description,
                                                Precision precision, int64_t max_rows,
                                                HugePageArena& arena) {
  const AttentionDescription& layer_attention = description.layers[0].attention;
  const FeedForwardDescription& layer_feed_forward = description.layers[0].feed_forward;
  const int64_t head_dim = layer_attention.head_dim;
  const int64_t query_cols = layer_attention.num_attention_heads * head_dim;
  const int64_t qkv_cols = query_cols + 2 * layer_attention.num_key_value_heads * head_dim;
  const int64_t intermediate_size = layer_feed_forward.intermediate_size;
  const int64_t gate_up_cols = (layer_feed_forward.gated ? 2 : 1) * intermediate_size;
  const int64_t rope_cols = description.positions == PositionKind::kRope ? head_dim / 2 : 0;
  Activations result;
  PHYLLO_ASSIGN_OR_RETURN(result.normed,
                          NewLinearInput(max_rows, description.hidden_size, precision, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.qkv, NewMatrix(max_rows, qkv_cols, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.attention, NewLinearInput(max_rows, query_cols, precision, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.gate_up, NewMatrix(max_rows, gate_up_cols, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.feed_forward,
                          NewLinearInput(max_rows, intermediate_size, precision, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.cos, NewMatrix(max_rows, rope_cols, arena));
  PHYLLO_ASSIGN_OR_RETURN(result.sin, NewMatrix(max_rows, rope_cols, arena));
  return result;
}

Activations Activations::FirstRows(int64_t rows) const {
  return {.normed = normed.SubRows(0, rows),
          .qkv = qkv.SubRows(0, rows),
          .attention = attention.SubRows(0, rows),
          .gate_up = gate_up.SubRows(0, rows),
          .feed_forward = feed_forward.SubRows(0, rows),
          .cos = cos.SubRows(0, rows),
          .sin = sin.SubRows(0, rows)};
}

}  // namespace phyllo
