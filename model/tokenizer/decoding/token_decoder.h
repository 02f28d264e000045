// The component "decoder" of tokenizer.json.
#ifndef PHYLLO_MODEL_TOKENIZER_DECODING_TOKEN_DECODER_H_
#define PHYLLO_MODEL_TOKENIZER_DECODING_TOKEN_DECODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/decoding/decode_stage.h"
#include "model/tokenizer/decoding/sentencepiece_stage.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// The description of a decoding pipeline, from which every stream makes its own stages. Immutable,
// thread-safe.
class TokenDecoder {
 public:
  // Known types: Sequence, ByteLevel, ByteFallback, Fuse, Replace (of a string), Strip, Metaspace;
  // JSON null puts a space between tokens. Errors: INVALID_ARGUMENT (malformed), UNIMPLEMENTED
  // (another type, by name; or a type that needs whole tokens behind one that joins them).
  static absl::StatusOr<std::unique_ptr<TokenDecoder>> FromJson(const nlohmann::json& component);

  // Of a tokenizer.model.
  static std::unique_ptr<TokenDecoder> ForSentencePiece(SentencePieceDecoding decoding);

  // The stages of a new stream. `max_held_bytes`: see MakeByteFallbackStage.
  std::vector<std::unique_ptr<DecodeStage>> MakeStages(int64_t max_held_bytes) const;

  // The bytes that `token` stands for inside a text.
  std::string TokenBytes(absl::string_view token) const;

 private:
  enum class Kind { kByteLevel, kByteFallback, kFuse, kReplace, kStrip, kMetaspace, kJoin };
  struct Step {
    Kind kind;
    std::string pattern;  // kReplace; the character of kStrip, kMetaspace.
    std::string content;  // kReplace.
    int64_t start = 0;    // kStrip; of kMetaspace 1: no mark is kept in the first token.
    int64_t stop = 0;     // kStrip.
  };

  TokenDecoder() = default;

  absl::Status Append(const nlohmann::json& component, int depth);
  absl::StatusOr<Step> MakeStep(const nlohmann::json& component, const std::string& type) const;

  std::vector<Step> steps_;
  absl::optional<SentencePieceDecoding> sentencepiece_;  // Instead of steps.
  bool joined_ = false;  // A step so far joins tokens. Only while it is read.
  size_t growth_ = 1;    // All steps so far make a token at most so many times as long. Likewise.
};

// The decoding of one stream of tokens. Thread-compatible; independent of the decoder it was made
// from.
class DecodeStream {
 public:
  DecodeStream(const TokenDecoder& decoder, int64_t max_held_bytes);

  // Takes the next token; appends to `text` what it settles, unless that is text of the prompt.
  void Push(absl::string_view token, bool from_prompt, std::string* text);

  // Appends what was held back.
  void Finish(std::string* text);

 private:
  void PushInto(size_t stage, const DecodePiece& piece, std::string* text);

  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_DECODING_TOKEN_DECODER_H_
