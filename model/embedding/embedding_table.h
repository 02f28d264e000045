// Token ids to the hidden states that enter the first layer.
#ifndef PHYLLO_MODEL_EMBEDDING_EMBEDDING_TABLE_H_
#define PHYLLO_MODEL_EMBEDDING_EMBEDDING_TABLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/tensor/dtype.h"

namespace phyllo {

//   hidden_states[i] = embed_tokens[token_ids[i]] * embedding_scale
//                      + embed_positions[first_position + i], with learned positions only
// Rows come straight from the memory map: only touched pages cost memory. The same bits wherever
// the same checkpoint is opened. Borrows the checkpoint, which must outlive it. Immutable, hence
// thread-safe.
class EmbeddingTable {
 public:
  // Errors: those of FindWeight (weight_map.h) for embed_tokens and, with learned positions,
  // embed_positions.
  static absl::StatusOr<EmbeddingTable> Create(const DecoderDescription& description,
                                               const Checkpoint& checkpoint);

  int64_t vocab_size() const { return vocab_size_; }
  int64_t hidden_size() const { return hidden_size_; }

  // One past the last position with a learned row; INT64_MAX without learned positions.
  int64_t position_limit() const { return position_limit_; }

  // Errors: INVALID_ARGUMENT, naming value and limit, if an id is outside [0, vocab_size) or a
  // position outside [0, position_limit).
  absl::Status Check(absl::Span<const int32_t> token_ids, int64_t first_position) const;

  // Writes the hidden states [n, d] as float. REQUIRES: out.size() == token_ids.size() *
  // hidden_size. Errors: those of Check; then out is untouched.
  absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                     absl::Span<float> out) const;

  // The element type of EmbedNative: the checkpoint's own if the rows pass unchanged, else kF32.
  DType native_dtype() const { return native_dtype_; }

  // Writes the hidden states [n, d] in native_dtype(), without loss: widened to float they are what
  // Embed writes. REQUIRES: out.size() == token_ids.size() * hidden_size *
  // ByteSize(native_dtype()). Errors: those of Check.
  absl::Status EmbedNative(absl::Span<const int32_t> token_ids, int64_t first_position,
                           absl::Span<uint8_t> out) const;

 private:
  EmbeddingTable() = default;

  void EmbedRow(int32_t token_id, int64_t position, absl::Span<float> out) const;

  int64_t vocab_size_ = 0;
  int64_t hidden_size_ = 0;
  int64_t position_limit_ = 0;
  float scale_ = 1.0f;
  DType native_dtype_ = DType::kF32;
  bool passes_unchanged_ = false;                // rows of embed_tokens are the hidden states
  const TensorView* embed_tokens_ = nullptr;     // [v, d]
  const TensorView* embed_positions_ = nullptr;  // [position_limit, d], or null
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_EMBEDDING_EMBEDDING_TABLE_H_
