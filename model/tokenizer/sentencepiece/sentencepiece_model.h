// What a tokenizer.model of SentencePiece says.
#ifndef PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// The message ModelProto (sentencepiece_model.proto), as far as it matters for encoding and
// decoding, with the file's own names and default values.
struct SentencePieceModel {
  enum class PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  enum class ModelType { kUnigram = 1, kBpe, kWord, kChar };

  struct Piece {
    std::string piece;  // Valid UTF-8.
    float score = 0.0f;
    PieceType type = PieceType::kNormal;
  };

  std::vector<Piece> pieces;  // The index is the id.

  // trainer_spec.
  ModelType model_type = ModelType::kUnigram;
  bool byte_fallback = false;
  bool treat_whitespace_as_suffix = false;
  std::string bos_piece = "<s>";
  std::string eos_piece = "</s>";
  std::string pad_piece = "<pad>";
  std::string unk_surface = " \xE2\x81\x87 ";

  // normalizer_spec.
  std::string precompiled_charsmap;  // See PrecompiledCharsmap; empty: no rules.
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  // denormalizer_spec has rules too.
  bool has_denormalizer = false;
};

// Reads the file's bytes. The result takes memory in proportion to them: at most 20 times as much.
// Errors: INVALID_ARGUMENT (not a message of this kind; no pieces; a piece that is empty or not
// UTF-8, an unknown type).
absl::StatusOr<SentencePieceModel> ParseSentencePieceModel(absl::string_view bytes);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_MODEL_H_
