// The four Unicode normalization forms (UAX #15), with alignment.
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_NORMALIZATION_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_NORMALIZATION_H_

#include "model/tokenizer/text/aligned_text.h"

namespace phyllo {

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

// The normalized form of `text` (valid UTF-8). O(n log n) whatever the text; returns it unchanged
// if nothing changes.
AlignedText NormalizeUnicode(AlignedText text, NormalizationForm form);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_UNICODE_NORMALIZATION_H_
