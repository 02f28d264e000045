// Grapheme clusters: what a reader takes for one character.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_GRAPHEME_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_GRAPHEME_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace phyllo {

// The end of the extended grapheme cluster (UAX #29, Unicode 15) that begins at `begin` of `text`
// (valid UTF-8), a boundary of clusters.
size_t EndOfGrapheme(absl::string_view text, size_t begin);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_GRAPHEME_H_
