// Text to token ids and back, by executing a checkpoint's tokenizer files as they stand.
//
//   PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer,
//   Tokenizer::Load("/models/qwen3")); PHYLLO_ASSIGN_OR_RETURN(const Encoding encoding,
//   tokenizer->Encode("Once upon a time", {})); const std::string text =
//   tokenizer->Decode(encoding.ids, /*skip_special_tokens=*/false);
//
// The reference for every id and every decoded byte is the library that the file was made for: of
// tokenizer.json and vocab.json with merges.txt the `tokenizers` library (0.23), of tokenizer.model
// SentencePiece (0.2), of a .tiktoken file tiktoken (0.12). Text that
// arrives token by token is decoded with IncrementalDecoder; conversations are rendered with
// ChatTemplate.
#ifndef PHYLLO_MODEL_TOKENIZER_TOKENIZER_H_
#define PHYLLO_MODEL_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "model/tokenizer/text/encoding.h"
#include "model/tokenizer/tokenizer_files.h"

namespace phyllo {

class TokenDecoder;
struct TokenizerParts;

// One entry of the vocabulary.
struct TokenInfo {
  // As written in the vocabulary ("Ġthe", "▁the", "<0x0A>"). Borrowed from the tokenizer.
  absl::string_view token;
  // What it contributes to the decoded text (" the", " the", "\n"); not necessarily valid UTF-8.
  std::string bytes;
  bool special = false;  // Left out by skip_special_tokens.
  bool added = false;    // Listed in added_tokens.
  bool control = false;  // See LiteralRange.
};

// What the files beside the vocabulary add to it: tokenizer_config.json, then
// special_tokens_map.json, then the vocabulary's own format (the control pieces of a
// tokenizer.model). Tokens are empty and ids absent if not named; an id is also absent if the token
// is not in the vocabulary.
struct TokenizerConfig {
  std::string bos_token, eos_token, unk_token, pad_token;
  absl::optional<int32_t> bos_token_id, eos_token_id, unk_token_id, pad_token_id;
  // Jinja source, empty if there is none; chat_template.jinja beside the file wins over the key
  // "chat_template".
  std::string chat_template;
  // SHA-256 of chat_template, as Tokenizer::digest; of the empty string if there is none.
  std::string chat_template_digest;
};

// Immutable, thread-safe: any number of threads may call any method at once.
class Tokenizer {
 public:
  // Reads the files of a model folder: see TokenizerFiles, which says what they are and which of
  // them wins. Errors: NOT_FOUND (none says what the tokens are), INVALID_ARGUMENT (malformed
  // file), UNIMPLEMENTED (a component or setting that is not known, by name).
  static absl::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& directory);

  // The same from the files' contents.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromFiles(const TokenizerFiles& files);

  // The same of a tokenizer.json; `tokenizer_config_json` and `chat_template` may be empty.
  static absl::StatusOr<std::unique_ptr<Tokenizer>> FromJson(
      absl::string_view tokenizer_json, absl::string_view tokenizer_config_json,
      absl::string_view chat_template = "");

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Encodes `text`, which must be valid UTF-8.
  // Errors: INVALID_ARGUMENT (not UTF-8, with the offset; never the text), RESOURCE_EXHAUSTED (a
  // regular expression of the file needs more stack than is allowed for this text).
  absl::StatusOr<Encoding> Encode(absl::string_view text, const EncodeOptions& options) const;

  // Encodes `text` with parse_special_tokens, except that the tokens which LiteralRange names are
  // not recognised where they touch one of `literal_ranges` (ascending, disjoint, within the text).
  // Every other character is tokenized as if the ranges were not there, so that a range without the
  // spelling of such a token changes nothing. Errors: as Encode; INVALID_ARGUMENT (ranges out of
  // order or bounds).
  absl::StatusOr<Encoding> EncodeWithLiteralRanges(absl::string_view text,
                                                   absl::Span<const LiteralRange> literal_ranges,
                                                   const EncodeOptions& options) const;

  // The text of `ids`, always valid UTF-8 (U+FFFD where the bytes are not). Ids without an entry in
  // the vocabulary (checkpoints pad it) contribute nothing.
  std::string Decode(absl::Span<const int32_t> ids, bool skip_special_tokens) const;

  // The entry of `id`; none if the vocabulary has no such id.
  absl::optional<TokenInfo> FindToken(int32_t id) const;

  // The id of a token as written in the vocabulary ("Ġthe", "<|im_end|>").
  absl::optional<int32_t> IdOf(absl::string_view token) const;

  // One more than the largest id, added tokens included. Ids below it may be unused.
  int64_t vocab_size() const;

  const TokenizerConfig& config() const;

  // SHA-256 of the bytes of the file that says what the tokens are (of vocab.json followed by
  // merges.txt; of a .tiktoken file followed by its spec.json), 64 lower-case hexadecimal digits.
  const std::string& digest() const;

  // The decoding pipeline, for IncrementalDecoder. Lives as long as the tokenizer.
  const TokenDecoder& decoder() const;

 private:
  explicit Tokenizer(std::unique_ptr<TokenizerParts> parts);

  const std::unique_ptr<TokenizerParts> parts_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TOKENIZER_H_
