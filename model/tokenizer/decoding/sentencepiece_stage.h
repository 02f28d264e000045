// Decoding as SentencePiece does it.
#ifndef PHYLLO_MODEL_TOKENIZER_DECODING_SENTENCEPIECE_STAGE_H_
#define PHYLLO_MODEL_TOKENIZER_DECODING_SENTENCEPIECE_STAGE_H_

#include <memory>
#include <string>

#include "model/tokenizer/decoding/decode_stage.h"

namespace phyllo {

struct SentencePieceDecoding {
  std::string unk_piece;
  std::string unk_surface;  // What unk_piece becomes.
  // The mark at the begin of the text is dropped: once, or from every token until there is text.
  bool drop_first_mark = false;
  bool drop_all_first_marks = false;
  bool byte_fallback = false;  // Tokens <0x00> ... <0xFF> are bytes.
};

// SentencePieceProcessor::Decode of SentencePiece 0.2: U+2581 becomes a space; bytes become the
// characters they spell, one U+FFFD for each byte that is part of none. Holds back at most 3 bytes.
std::unique_ptr<DecodeStage> MakeSentencePieceStage(SentencePieceDecoding decoding);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_DECODING_SENTENCEPIECE_STAGE_H_
