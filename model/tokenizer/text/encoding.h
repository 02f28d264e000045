// What goes into an encoding and what comes out of it.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_ENCODING_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_ENCODING_H_

#include <cstdint>
#include <vector>

namespace phyllo {

// Bytes [begin, end) of a text.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const ByteRange& a, const ByteRange& b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

// A range of a text that came from a user: no control token may begin, end or lie in it. A control
// token is an added token that the file marks special, or one spelled <|...|> or <｜...｜>
// (DeepSeek's <｜User｜> is not marked).
struct LiteralRange {
  ByteRange bytes;
  // True: the other added tokens that the chat template spells (<tool_call>, <think> ...) stay text
  // as well. False for the model's own earlier output, which may hold them.
  bool template_tokens_too = true;
};

struct EncodeOptions {
  // Adds what the post-processor adds: beginning-of-text and the like.
  bool add_special_tokens = true;
  // The text of a control token (see LiteralRange) becomes that token. Off: it is plain text. The
  // other added tokens are recognised in both cases.
  bool parse_special_tokens = false;
  // Fills Encoding::offsets.
  bool with_offsets = false;
};

struct Encoding {
  // [n] token ids.
  std::vector<int32_t> ids;
  // [n], or empty if not asked for: the bytes of the text that each token stands for. Tokens that
  // the post-processor adds have an empty range. Where a normalizer changed the text, the range is
  // that of the original characters.
  std::vector<ByteRange> offsets;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_ENCODING_H_
