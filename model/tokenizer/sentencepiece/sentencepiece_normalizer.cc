#include "model/tokenizer/sentencepiece/sentencepiece_normalizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/word_models/mark_cuts.h"

namespace phyllo {

SentencePieceNormalizer::SentencePieceNormalizer(const Options& options,
                                                 PrecompiledCharsmap charsmap,
                                                 PrefixTrie user_defined)
    : options_(options), charsmap_(std::move(charsmap)), user_defined_(std::move(user_defined)) {}

PrecompiledCharsmap::Rule SentencePieceNormalizer::Step(absl::string_view text) const {
  size_t kept = 0;
  user_defined_.ForEachPrefix(text, [&](size_t length, int32_t) { kept = length; });
  if (kept == 0) {
    const PrecompiledCharsmap::Rule rule = charsmap_.FindLongest(text);
    if (rule.length > 0) return rule;
    kept = static_cast<size_t>(Utf8Length(text[0]));
  }
  return {kept, text.substr(0, kept)};
}

absl::StatusOr<AlignedText> SentencePieceNormalizer::Normalize(AlignedText text,
                                                               RegexScratch*) const {
  const absl::string_view view = text.view();
  const absl::string_view space = options_.escape_whitespaces ? MarkCuts::kMark : " ";
  AlignedText result = text.MakeEmpty();
  size_t at = 0;
  while (options_.remove_extra_whitespaces && at < view.size()) {
    const PrecompiledCharsmap::Rule step = Step(view.substr(at));
    if (step.replacement != " ") break;
    at += step.length;
  }
  if (at == view.size()) return result;
  if (options_.add_dummy_prefix && (!options_.prefix_only_first || text.base() == 0))
    result.AppendInstead(space, text, at, at);
  bool after_space = options_.remove_extra_whitespaces;
  while (at < view.size()) {
    const PrecompiledCharsmap::Rule step = Step(view.substr(at));
    absl::string_view piece = step.replacement;
    while (after_space && absl::ConsumePrefix(&piece, " ")) {
    }
    for (size_t begin = 0; begin < piece.size();) {
      const size_t end = std::min(piece.find(' ', begin), piece.size());
      result.AppendInstead(piece.substr(begin, end - begin), text, at, at + step.length);
      if (end < piece.size()) result.AppendInstead(space, text, at, at + step.length);
      begin = end + 1;
    }
    PHYLLO_RETURN_IF_ERROR(CheckNormalizedSize(result.view().size(), view.size()));
    if (!piece.empty()) after_space = absl::EndsWith(piece, " ");
    if (!options_.remove_extra_whitespaces) after_space = false;
    at += step.length;
  }
  if (!options_.remove_extra_whitespaces) return result;
  size_t trimmed = result.view().size();
  while (absl::EndsWith(result.view().substr(0, trimmed), space)) trimmed -= space.size();
  return trimmed == result.view().size() ? std::move(result) : result.Slice(0, trimmed);
}

}  // namespace phyllo
