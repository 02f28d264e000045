#include "model/embedding/embedding_table.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/weight_map.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

const uint8_t* Row(const TensorView& table, int64_t row, int64_t hidden_size) {
  return table.data.data() + row * RunBytes(table.dtype, hidden_size);
}

}  // namespace

absl::StatusOr<EmbeddingTable> EmbeddingTable::Create(const DecoderDescription& description,
                                                      const Checkpoint& checkpoint) {
  const WeightMap map = BuildWeightMap(description);
  const WeightSpec* tokens = map.Find(WeightRole::kEmbedTokens);
  PHYLLO_CHECK(tokens != nullptr && !tokens->transposed && tokens->row_begin == 0);
  EmbeddingTable table;
  table.vocab_size_ = description.vocab_size;
  table.hidden_size_ = description.hidden_size;
  table.scale_ = description.embedding_scale;
  table.position_limit_ = std::numeric_limits<int64_t>::max();
  PHYLLO_ASSIGN_OR_RETURN(table.embed_tokens_, FindWeight(*tokens, checkpoint));
  if (description.positions == PositionKind::kLearned) {
    const WeightSpec* positions = map.Find(WeightRole::kEmbedPositions);
    PHYLLO_CHECK(positions != nullptr && !positions->transposed && positions->row_begin == 0);
    PHYLLO_ASSIGN_OR_RETURN(table.embed_positions_, FindWeight(*positions, checkpoint));
    table.position_limit_ = positions->rows;
  }
  const bool unchanged = table.embed_positions_ == nullptr && table.scale_ == 1.0f &&
                         IsPlainWeightDType(table.embed_tokens_->dtype);
  table.passes_unchanged_ = unchanged;
  table.native_dtype_ = unchanged ? table.embed_tokens_->dtype : DType::kF32;
  return table;
}

absl::Status EmbeddingTable::Check(absl::Span<const int32_t> token_ids,
                                   int64_t first_position) const {
  const int64_t count = static_cast<int64_t>(token_ids.size());
  if (first_position < 0 || count > position_limit_ || first_position > position_limit_ - count) {
    return absl::InvalidArgumentError(absl::StrCat(count, " tokens from position ", first_position,
                                                   " on are outside positions 0 .. ",
                                                   position_limit_ - 1));
  }
  for (int64_t i = 0; i < count; ++i) {
    if (token_ids[i] < 0 || token_ids[i] >= vocab_size_) {
      return absl::InvalidArgumentError(absl::StrCat("token id ", token_ids[i], " at index ", i,
                                                     " is outside 0 .. ", vocab_size_ - 1));
    }
  }
  return absl::OkStatus();
}

void EmbeddingTable::EmbedRow(int32_t token_id, int64_t position, absl::Span<float> out) const {
  ConvertToFloat(embed_tokens_->dtype, Row(*embed_tokens_, token_id, hidden_size_), out);
  if (scale_ != 1.0f) {
    for (float& value : out) value *= scale_;
  }
  if (embed_positions_ == nullptr) return;
  constexpr int64_t kPiece = 256;  // a multiple of every block
  float piece[kPiece];
  const uint8_t* row = Row(*embed_positions_, position, hidden_size_);
  for (int64_t begin = 0; begin < hidden_size_; begin += kPiece) {
    const int64_t size = std::min(kPiece, hidden_size_ - begin);
    ConvertToFloat(embed_positions_->dtype, row + RunBytes(embed_positions_->dtype, begin),
                   absl::MakeSpan(piece, size));
    for (int64_t i = 0; i < size; ++i) out[begin + i] += piece[i];
  }
}

absl::Status EmbeddingTable::Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                                   absl::Span<float> out) const {
  PHYLLO_CHECK(out.size() == token_ids.size() * static_cast<size_t>(hidden_size_));
  PHYLLO_RETURN_IF_ERROR(Check(token_ids, first_position));
  for (int64_t i = 0; i < static_cast<int64_t>(token_ids.size()); ++i) {
    EmbedRow(token_ids[i], first_position + i, out.subspan(i * hidden_size_, hidden_size_));
  }
  return absl::OkStatus();
}

absl::Status EmbeddingTable::EmbedNative(absl::Span<const int32_t> token_ids,
                                         int64_t first_position, absl::Span<uint8_t> out) const {
  const int64_t row_bytes = hidden_size_ * ByteSize(native_dtype_);
  PHYLLO_CHECK(out.size() == token_ids.size() * static_cast<size_t>(row_bytes));
  PHYLLO_RETURN_IF_ERROR(Check(token_ids, first_position));
  std::vector<float> row(passes_unchanged_ ? 0 : hidden_size_);
  for (int64_t i = 0; i < static_cast<int64_t>(token_ids.size()); ++i) {
    uint8_t* destination = out.data() + i * row_bytes;
    if (passes_unchanged_) {
      std::memcpy(destination, Row(*embed_tokens_, token_ids[i], hidden_size_), row_bytes);
    } else {
      EmbedRow(token_ids[i], first_position + i, absl::MakeSpan(row));
      std::memcpy(destination, row.data(), row_bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace phyllo
