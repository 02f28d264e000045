// One tokenizer of the golden data: its files, and what the reference implementations make of its
// test cases.
#ifndef PHYLLO_TESTS_GOLDEN_TOKENIZERS_GOLDEN_TOKENIZER_H_
#define PHYLLO_TESTS_GOLDEN_TOKENIZERS_GOLDEN_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/tokenizer.h"

namespace phyllo {

// The files of which a tokenizer is made, and with them the library that is the reference.
enum class GoldenFormat {
  kTokenizerJson,  // tokenizers
  kVocabMerges,    // vocab.json and merges.txt: tokenizers
  kSentencePiece,  // tokenizer.model: SentencePiece, which never finds control pieces in text
  kTiktoken,       // NAME.tiktoken and spec.json: tiktoken
};

// From "tokenizer.json", "merges.txt", "tokenizer.model" or "tiktoken".
absl::StatusOr<GoldenFormat> ParseGoldenFormat(absl::string_view name);

// A line of cases.jsonl.
struct GoldenCase {
  int64_t id;
  std::string text;
  bool parse_special_tokens;
  std::vector<int32_t> ids;          // Without what the post-processor adds.
  std::vector<int32_t> ids_special;  // With it.
  std::string decoded;               // Of ids.
  std::string decoded_skip_special;  // Of ids_special.
};

// A line of streaming.jsonl.
struct GoldenStream {
  int64_t id;
  std::string group;
  std::vector<int32_t> ids;
  bool skip_special_tokens;
  std::vector<absl::optional<std::string>> token_bytes;  // [n], or empty if not known.
  std::string decoded;
  std::vector<std::string> prefix_decoded;  // [n] of the first 1, 2, ... ids; or empty likewise.
};

// A line of chat.jsonl.
struct GoldenChat {
  std::string name;
  std::string messages_json, tools_json, kwargs_json;
  bool add_generation_prompt;
  std::string rendered;      // Empty if `error` is not.
  std::vector<int32_t> ids;  // Of `rendered`, control tokens in the content recognised.
  std::string error;         // The template's message.
};

struct GoldenTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<GoldenCase> cases;
  std::vector<GoldenStream> streams;
  std::vector<GoldenChat> chats;
};

// The folder of the golden tokenizer `name`: in the project, or else below
// $PHYLLO_GOLDEN_DIR/tokenizers, where the vocabularies are looked up that come under their makers'
// own terms. Empty if it is in neither.
std::string GoldenTokenizerFolder(const std::string& name);

// Reads the golden tokenizer `name`. Those named X-template have no vocabulary: they are read with
// that of `vocabulary`, without the added tokens of `without`.
absl::StatusOr<GoldenTokenizer> LoadGoldenTokenizer(const std::string& name,
                                                    const std::string& vocabulary,
                                                    const std::vector<std::string>& without,
                                                    GoldenFormat format);

}  // namespace phyllo

#endif  // PHYLLO_TESTS_GOLDEN_TOKENIZERS_GOLDEN_TOKENIZER_H_
