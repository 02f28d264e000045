// The component "pre_tokenizer" of tokenizer.json: cuts a text into words, over whose borders the
// model never merges.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRE_TOKENIZER_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRE_TOKENIZER_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/regex.h"
#include "model/tokenizer/text/text_pattern.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// A text and the words it is cut into: not empty, ascending, disjoint; parts that belong to no word
// were removed.
struct WordList {
  explicit WordList(AlignedText aligned) : text(std::move(aligned)) {
    if (!text.view().empty()) words.push_back({0, text.view().size()});
  }

  AlignedText text;
  std::vector<RegexMatch> words;  // Bytes [begin, end) of text.view().
};

// Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Cuts the words of `list` further, and may rewrite their text. Errors: RESOURCE_EXHAUSTED (see
  // Regex::FindAll).
  virtual absl::Status Split(WordList* list, RegexScratch* scratch) const = 0;
};

struct PreTokenizerAndAlphabet {
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // Null: the text is one word.
  // The last component is ByteLevel: the vocabulary is written in its alphabet (byte_level.h). The
  // words stay bytes.
  bool byte_level = false;
};

// Makes the pre-tokenizer that `component` describes; none for JSON null. Known types: Sequence,
// ByteLevel (last), Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit. Errors:
// INVALID_ARGUMENT (malformed), UNIMPLEMENTED (another type, by name; ByteLevel before another
// component).
absl::StatusOr<PreTokenizerAndAlphabet> MakePreTokenizer(const nlohmann::json& component);

// Cuts out the matches of `pattern` and drops what lies between them.
std::unique_ptr<PreTokenizer> MakeMatchPreTokenizer(TextPattern pattern);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRE_TOKENIZER_H_
