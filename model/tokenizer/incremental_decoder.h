// Token ids to text while they arrive, one decoder per stream.
#ifndef PHYLLO_MODEL_TOKENIZER_INCREMENTAL_DECODER_H_
#define PHYLLO_MODEL_TOKENIZER_INCREMENTAL_DECODER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "model/tokenizer/tokenizer.h"

namespace phyllo {

class DecodeStream;

// Turns the ids of one stream into text deltas. Each delta is valid UTF-8: bytes that may still
// become a character are held back. All deltas and Finish() together are exactly Tokenizer::Decode
// of all ids, with one exception, which bounds what is held back: the decoders with byte fallback
// turn a run of byte tokens that is not valid as a whole into U+FFFD, one per byte; a run is given
// out, character by character, once it is longer than kMaxHeldBytes. Thread-compatible. Borrows the
// tokenizer, which must outlive it.
class IncrementalDecoder {
 public:
  static constexpr int64_t kMaxHeldBytes = 128;

  IncrementalDecoder(const Tokenizer& tokenizer, bool skip_special_tokens);
  ~IncrementalDecoder();
  IncrementalDecoder(IncrementalDecoder&&) noexcept;

  // Gives the prompt as context: what follows continues it (no leading space is stripped; half a
  // character at the end of the prompt is completed). Text of the prompt is never given out; a
  // character that began in the prompt and ends in the stream is. Must be called before Append, if
  // at all.
  void Seed(absl::Span<const int32_t> prompt_ids);

  // The text that is settled by `ids`; often empty, always valid UTF-8.
  std::string Append(absl::Span<const int32_t> ids);

  // The rest, with U+FFFD for unfinished characters. Nothing may be appended afterwards.
  std::string Finish();

 private:
  std::unique_ptr<DecodeStream> stream_;
  bool skip_special_tokens_;
  const Tokenizer* tokenizer_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_INCREMENTAL_DECODER_H_
