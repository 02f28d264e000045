#include "model/tokenizer/components/pre_tokenizer.h"

#include <string>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/split_behavior.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr int kMaxDepth = 16;  // Of Sequence in Sequence.

// GPT-2, encoder.py.
constexpr absl::string_view kByteLevelExpression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

absl::string_view Substring(const WordList& list, const RegexMatch& word) {
  return list.text.view().substr(word.begin, word.end - word.begin);
}

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> parts)
      : parts_(std::move(parts)) {}

  absl::Status Split(WordList* list, RegexScratch* scratch) const override {
    for (const std::unique_ptr<PreTokenizer>& part : parts_) {
      PHYLLO_RETURN_IF_ERROR(part->Split(list, scratch));
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(TextPattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  absl::Status Split(WordList* list, RegexScratch* scratch) const override {
    std::vector<RegexMatch> words, matches;
    words.reserve(list->text.view().size() / 4);
    for (const RegexMatch& word : list->words) {
      matches.clear();
      PHYLLO_RETURN_IF_ERROR(pattern_.FindAll(Substring(*list, word), scratch, &matches));
      AppendSplit(word.begin, word.end, matches, invert_, behavior_, &words);
    }
    list->words = std::move(words);
    return absl::OkStatus();
  }

 private:
  const TextPattern pattern_;
  const SplitBehavior behavior_;
  const bool invert_;
};

// Splits by a class of characters; each member is a match of its own.
class CharacterSplit : public PreTokenizer {
 public:
  using Class = bool (*)(char32_t code_point);
  CharacterSplit(Class matches, SplitBehavior behavior) : matches_(matches), behavior_(behavior) {}

  absl::Status Split(WordList* list, RegexScratch*) const override {
    std::vector<RegexMatch> words, matches;
    for (const RegexMatch& word : list->words) {
      const absl::string_view text = Substring(*list, word);
      matches.clear();
      for (size_t at = 0; at < text.size(); at += Utf8Length(text[at])) {
        if (matches_(CodePointAt(text, at))) matches.push_back({at, at + Utf8Length(text[at])});
      }
      AppendSplit(word.begin, word.end, matches, /*invert=*/false, behavior_, &words);
    }
    list->words = std::move(words);
    return absl::OkStatus();
  }

 private:
  const Class matches_;
  const SplitBehavior behavior_;
};

// Rewrites every word: `replaced` (if not empty) becomes `replacement`, and `prefix` is put before
// words that do not begin with it, if they qualify.
class WordRewriter : public PreTokenizer {
 public:
  enum class Scheme { kAlways, kFirst, kNever };
  WordRewriter(std::string replaced, std::string prefix, Scheme scheme)
      : replaced_(std::move(replaced)), prefix_(std::move(prefix)), scheme_(scheme) {}

  absl::Status Split(WordList* list, RegexScratch*) const override {
    AlignedText text = list->text.MakeEmpty();
    std::vector<RegexMatch> words;
    for (const RegexMatch& word : list->words) {
      const size_t begin = text.view().size();
      if (NeedsPrefix(*list, word)) text.AppendInstead(prefix_, list->text, word.begin, word.begin);
      AppendReplaced(*list, word, &text);
      words.push_back({begin, text.view().size()});
    }
    list->text = std::move(text);
    list->words = std::move(words);
    return absl::OkStatus();
  }

 private:
  bool NeedsPrefix(const WordList& list, const RegexMatch& word) const {
    if (scheme_ == Scheme::kNever) return false;
    if (scheme_ == Scheme::kFirst && (word.begin != 0 || list.text.base() != 0)) return false;
    const absl::string_view text = Substring(list, word);
    return !absl::StartsWith(text, prefix_) &&
           (replaced_.empty() || !absl::StartsWith(text, replaced_));
  }

  void AppendReplaced(const WordList& list, const RegexMatch& word, AlignedText* text) const {
    size_t copied = word.begin;
    const absl::string_view view = list.text.view().substr(0, word.end);
    while (!replaced_.empty()) {
      const size_t at = view.find(replaced_, copied);
      if (at == absl::string_view::npos) break;
      text->AppendFrom(list.text, copied, at);
      text->AppendInstead(prefix_, list.text, at, at + replaced_.size());
      copied = at + replaced_.size();
    }
    text->AppendFrom(list.text, copied, word.end);
  }

  const std::string replaced_;
  const std::string prefix_;
  const Scheme scheme_;
};

using Parts = std::vector<std::unique_ptr<PreTokenizer>>;

absl::Status AppendByteLevel(const nlohmann::json& component, Parts* parts) {
  PHYLLO_ASSIGN_OR_RETURN(const bool add_prefix_space,
                          BoolFieldOr(component, "add_prefix_space", true));
  PHYLLO_ASSIGN_OR_RETURN(const bool use_regex, BoolFieldOr(component, "use_regex", true));
  if (add_prefix_space)
    parts->push_back(absl::make_unique<WordRewriter>("", " ", WordRewriter::Scheme::kAlways));
  if (use_regex) {
    PHYLLO_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::FromRegex(kByteLevelExpression));
    parts->push_back(
        absl::make_unique<PatternSplit>(std::move(pattern), SplitBehavior::kIsolated, false));
  }
  return absl::OkStatus();
}

absl::Status AppendMetaspace(const nlohmann::json& component, Parts* parts) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string replacement,
                          StringFieldOr(component, "replacement", "\u2581"));
  if (replacement.empty() || static_cast<size_t>(Utf8Length(replacement[0])) != replacement.size())
    return absl::InvalidArgumentError("pre_tokenizer Metaspace: \"replacement\" is no character");
  PHYLLO_ASSIGN_OR_RETURN(const bool legacy_prefix,
                          BoolFieldOr(component, "add_prefix_space", true));
  PHYLLO_ASSIGN_OR_RETURN(
      const std::string scheme_name,
      StringFieldOr(component, "prepend_scheme", legacy_prefix ? "always" : "never"));
  PHYLLO_ASSIGN_OR_RETURN(const bool split, BoolFieldOr(component, "split", true));
  WordRewriter::Scheme scheme = WordRewriter::Scheme::kNever;
  if (scheme_name == "always") {
    scheme = WordRewriter::Scheme::kAlways;
  } else if (scheme_name == "first") {
    scheme = WordRewriter::Scheme::kFirst;
  } else if (scheme_name != "never") {
    return absl::InvalidArgumentError(
        absl::StrCat("pre_tokenizer Metaspace: unknown prepend_scheme \"", scheme_name, "\""));
  }
  parts->push_back(absl::make_unique<WordRewriter>(" ", replacement, scheme));
  if (split) {
    const nlohmann::json pattern = {{"pattern", {{"String", replacement}}}};
    PHYLLO_ASSIGN_OR_RETURN(TextPattern text_pattern, TextPattern::FromJson(pattern));
    parts->push_back(absl::make_unique<PatternSplit>(std::move(text_pattern),
                                                     SplitBehavior::kMergedWithNext, false));
  }
  return absl::OkStatus();
}

absl::Status AppendSplitComponent(const nlohmann::json& component, Parts* parts) {
  PHYLLO_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::FromJson(component));
  PHYLLO_ASSIGN_OR_RETURN(const std::string behavior_name, StringField(component, "behavior"));
  PHYLLO_ASSIGN_OR_RETURN(const SplitBehavior behavior, ParseSplitBehavior(behavior_name));
  PHYLLO_ASSIGN_OR_RETURN(const bool invert, BoolFieldOr(component, "invert", false));
  parts->push_back(absl::make_unique<PatternSplit>(std::move(pattern), behavior, invert));
  return absl::OkStatus();
}

absl::Status AppendPart(const nlohmann::json& component, int depth, Parts* parts,
                        bool* byte_level) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string type, ComponentType(component));
  if (*byte_level) {
    return absl::UnimplementedError(
        absl::StrCat("tokenizer.json: pre_tokenizer ", type, " after ByteLevel"));
  }
  if (type == "Sequence") {
    const nlohmann::json* list = FindField(component, "pretokenizers");
    if (list == nullptr || !list->is_array() || depth >= kMaxDepth) {
      return absl::InvalidArgumentError(
          "pre_tokenizer Sequence: field \"pretokenizers\" must be an array, not nested deeply");
    }
    for (const nlohmann::json& item : *list) {
      PHYLLO_RETURN_IF_ERROR(AppendPart(item, depth + 1, parts, byte_level));
    }
    return absl::OkStatus();
  }
  if (type == "ByteLevel") {
    *byte_level = true;
    return AppendByteLevel(component, parts);
  }
  if (type == "Metaspace") return AppendMetaspace(component, parts);
  if (type == "Split") return AppendSplitComponent(component, parts);
  if (type == "Digits") {
    PHYLLO_ASSIGN_OR_RETURN(const bool individual,
                            BoolFieldOr(component, "individual_digits", false));
    parts->push_back(absl::make_unique<CharacterSplit>(
        &IsNumeric, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
    return absl::OkStatus();
  }
  if (type == "Punctuation") {
    PHYLLO_ASSIGN_OR_RETURN(const std::string name,
                            StringFieldOr(component, "behavior", "Isolated"));
    PHYLLO_ASSIGN_OR_RETURN(const SplitBehavior behavior, ParseSplitBehavior(name));
    parts->push_back(absl::make_unique<CharacterSplit>(&IsPunctuation, behavior));
    return absl::OkStatus();
  }
  if (type == "WhitespaceSplit") {
    parts->push_back(absl::make_unique<CharacterSplit>(&IsWhitespace, SplitBehavior::kRemoved));
    return absl::OkStatus();
  }
  if (type == "Whitespace") {
    PHYLLO_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::FromRegex(R"(\w+|[^\w\s]+)"));
    parts->push_back(absl::make_unique<PatternSplit>(std::move(pattern), SplitBehavior::kRemoved,
                                                     /*invert=*/true));
    return absl::OkStatus();
  }
  return UnknownComponent("pre_tokenizer", type);
}

}  // namespace

absl::StatusOr<PreTokenizerAndAlphabet> MakePreTokenizer(const nlohmann::json& component) {
  PreTokenizerAndAlphabet result;
  if (component.is_null()) return result;
  Parts parts;
  PHYLLO_RETURN_IF_ERROR(AppendPart(component, 0, &parts, &result.byte_level));
  if (!parts.empty())
    result.pre_tokenizer = absl::make_unique<PreTokenizerSequence>(std::move(parts));
  return result;
}

std::unique_ptr<PreTokenizer> MakeMatchPreTokenizer(TextPattern pattern) {
  return absl::make_unique<PatternSplit>(std::move(pattern), SplitBehavior::kRemoved,
                                         /*invert=*/true);
}

}  // namespace phyllo
