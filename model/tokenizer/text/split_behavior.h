// What becomes of the matches of a pattern when a text is split (tokenizers,
// SplitDelimiterBehavior).
#ifndef PHYLLO_MODEL_TOKENIZER_TEXT_SPLIT_BEHAVIOR_H_
#define PHYLLO_MODEL_TOKENIZER_TEXT_SPLIT_BEHAVIOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/text/regex.h"

namespace phyllo {

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// From its name ("Removed", ...). Errors: INVALID_ARGUMENT.
absl::StatusOr<SplitBehavior> ParseSplitBehavior(absl::string_view name);

// Appends to `words` the pieces of bytes [begin, end) of a text, given the `matches` in it, whose
// offsets count from `begin`. With `invert` what lies between the matches plays the part of the
// matches.
void AppendSplit(size_t begin, size_t end, const std::vector<RegexMatch>& matches, bool invert,
                 SplitBehavior behavior, std::vector<RegexMatch>* words);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TEXT_SPLIT_BEHAVIOR_H_
