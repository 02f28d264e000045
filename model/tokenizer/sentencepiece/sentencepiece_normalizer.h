// SentencePiece's normalization of a text.
#ifndef PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_NORMALIZER_H_
#define PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_NORMALIZER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/components/normalizer.h"
#include "model/tokenizer/components/precompiled_charsmap.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/regex.h"
#include "model/tokenizer/word_models/prefix_trie.h"

namespace phyllo {

// normalizer.cc of SentencePiece 0.2: the longest rule of the character map at each place, then
// white space. Immutable, thread-safe.
class SentencePieceNormalizer : public Normalizer {
 public:
  struct Options {
    bool add_dummy_prefix = true;
    // The prefix only where the text begins, not behind each control token within it.
    bool prefix_only_first = false;
    bool remove_extra_whitespaces = true;
    bool escape_whitespaces = true;  // Spaces become U+2581.
  };

  // `user_defined`: the texts that are left as they are, longest first.
  SentencePieceNormalizer(const Options& options, PrecompiledCharsmap charsmap,
                          PrefixTrie user_defined);

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch* scratch) const override;

 private:
  // What the begin of `text` (not empty) becomes; `length` bytes of it.
  PrecompiledCharsmap::Rule Step(absl::string_view text) const;

  const Options options_;
  const PrecompiledCharsmap charsmap_;
  const PrefixTrie user_defined_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_NORMALIZER_H_
