#include "model/tokenizer/text/split_behavior.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

struct Part {
  RegexMatch range;
  bool is_match;
};

// The matches and what lies between them, none empty.
std::vector<Part> AllParts(size_t begin, size_t end, const std::vector<RegexMatch>& matches,
                           bool invert) {
  std::vector<Part> parts;
  size_t at = begin;
  for (const RegexMatch& match : matches) {
    if (at < begin + match.begin) parts.push_back({{at, begin + match.begin}, invert});
    parts.push_back({{begin + match.begin, begin + match.end}, !invert});
    at = begin + match.end;
  }
  if (at < end) parts.push_back({{at, end}, invert});
  return parts;
}

void AppendMergedWithNext(const std::vector<Part>& parts, std::vector<RegexMatch>* words) {
  const size_t first = words->size();
  bool previous_is_match = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !previous_is_match && words->size() > first) {
      words->back().begin = part->range.begin;
    } else {
      words->push_back(part->range);
    }
    previous_is_match = part->is_match;
  }
  std::reverse(words->begin() + static_cast<std::ptrdiff_t>(first), words->end());
}

}  // namespace

absl::StatusOr<SplitBehavior> ParseSplitBehavior(absl::string_view name) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return absl::InvalidArgumentError(absl::StrCat("unknown split behavior \"", name, "\""));
}

void AppendSplit(size_t begin, size_t end, const std::vector<RegexMatch>& matches, bool invert,
                 SplitBehavior behavior, std::vector<RegexMatch>* words) {
  if (behavior ==
      SplitBehavior::kIsolated) {  // The common case; matches and gaps are treated alike.
    size_t at = begin;
    for (const RegexMatch& match : matches) {
      if (at < begin + match.begin) words->push_back({at, begin + match.begin});
      words->push_back({begin + match.begin, begin + match.end});
      at = begin + match.end;
    }
    if (at < end) words->push_back({at, end});
    return;
  }
  const std::vector<Part> parts = AllParts(begin, end, matches, invert);
  if (behavior == SplitBehavior::kMergedWithNext) {
    AppendMergedWithNext(parts, words);
    return;
  }
  const size_t first = words->size();
  bool previous_is_match = false;
  for (const Part& part : parts) {
    const bool has_word = words->size() > first;
    bool extends = false;
    if (behavior == SplitBehavior::kRemoved && part.is_match) continue;
    if (behavior == SplitBehavior::kContiguous)
      extends = has_word && part.is_match == previous_is_match;
    if (behavior == SplitBehavior::kMergedWithPrevious)
      extends = has_word && part.is_match && !previous_is_match;
    if (extends) {
      words->back().end = part.range.end;
    } else {
      words->push_back(part.range);
    }
    previous_is_match = part.is_match;
  }
}

}  // namespace phyllo
