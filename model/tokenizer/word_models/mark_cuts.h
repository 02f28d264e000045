// Where a text of SentencePiece may be cut without changing its tokens.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_MARK_CUTS_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_MARK_CUTS_H_

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {

// SentencePiece has no pre-tokenizer: the text is one word, with U+2581 for spaces. It may be cut
// before every U+2581 but where some token holds that mark behind the same character; no merge can
// cross such a cut. Immutable once filled, then thread-safe.
class MarkCuts {
 public:
  static constexpr absl::string_view kMark = "\xE2\x96\x81";  // U+2581

  // Takes a token (valid UTF-8) of the vocabulary into account.
  void AddToken(absl::string_view token) {
    for (size_t at = token.find(kMark, 1); at != absl::string_view::npos;
         at = token.find(kMark, at + 1)) {
      joins_.insert(CodePointAt(token, PreviousCharacter(token, at)));
    }
  }

  // The end of the part of `text` that begins at `begin`.
  size_t EndOfPart(absl::string_view text, size_t begin) const {
    for (size_t at = text.find(kMark, begin + 1); at != absl::string_view::npos;
         at = text.find(kMark, at + kMark.size())) {
      if (!joins_.contains(CodePointAt(text, PreviousCharacter(text, at)))) return at;
    }
    return text.size();
  }

 private:
  absl::flat_hash_set<char32_t> joins_;  // Characters that some token holds before the mark.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_MARK_CUTS_H_
