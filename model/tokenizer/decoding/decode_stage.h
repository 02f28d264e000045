// The stages of the component "decoder" of tokenizer.json, each as a transducer that takes tokens
// while they arrive.
#ifndef PHYLLO_MODEL_TOKENIZER_DECODING_DECODE_STAGE_H_
#define PHYLLO_MODEL_TOKENIZER_DECODING_DECODE_STAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// A token or a part of one, between two stages.
struct DecodePiece {
  absl::string_view text;
  bool continues = false;    // Of the same token as the piece before.
  bool from_prompt = false;  // Context only; it is not given out.
};

// One stage of one stream. Thread-compatible.
class DecodeStage {
 public:
  using Sink = absl::FunctionRef<void(const DecodePiece& piece)>;

  virtual ~DecodeStage() = default;

  // Takes the next piece and hands on what is settled by it.
  virtual void Push(const DecodePiece& piece, Sink sink) = 0;

  // Hands on what was held back.
  virtual void Finish(Sink sink) {}
};

// Bytes of the alphabet of byte_level.h; joins all tokens; one U+FFFD for each maximal invalid
// part. Holds back at most 3 bytes.
std::unique_ptr<DecodeStage> MakeByteLevelStage();

// Runs of tokens <0x00> ... <0xFF> become the text they spell or, if the run as a whole is not
// valid UTF-8, one U+FFFD a byte. A run is held back until it ends or is longer than
// `max_held_bytes`; then its characters are given out as they are.
std::unique_ptr<DecodeStage> MakeByteFallbackStage(int64_t max_held_bytes);

// The byte that `token` spells as <0xXX>, or -1.
int ByteOfToken(absl::string_view token);

// Joins all tokens into one.
std::unique_ptr<DecodeStage> MakeFuseStage();

// Replaces every `pattern` (not empty) within a piece.
std::unique_ptr<DecodeStage> MakeReplaceStage(std::string pattern, std::string content);

// Drops up to `start` characters `content` from the begin of every token and up to `stop` from its
// end. REQUIRES: stop == 0 if tokens come in more than one piece.
std::unique_ptr<DecodeStage> MakeStripStage(std::string content, int64_t start, int64_t stop);

// Turns `replacement` into a space; in the first token into nothing, if `drop_in_first`.
std::unique_ptr<DecodeStage> MakeMetaspaceStage(std::string replacement, bool drop_in_first);

// Puts a space between tokens: what tokenizers does where the file has no decoder.
std::unique_ptr<DecodeStage> MakeJoinStage();

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_DECODING_DECODE_STAGE_H_
