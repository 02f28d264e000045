#include "model/tokenizer/components/normalizer.h"

#include <utf8proc.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/components/precompiled_charsmap.h"
#include "model/tokenizer/text/grapheme.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/text_pattern.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/text/unicode_normalization.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr int kMaxDepth = 16;  // Of Sequence in Sequence.

// See CheckNormalizedSize. The second lets a short text get a prefix.
constexpr size_t kMaxGrowth = 64;
constexpr size_t kFreeGrowthBytes = 4096;

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> parts)
      : parts_(std::move(parts)) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch* scratch) const override {
    const size_t original_size = text.view().size();
    for (const std::unique_ptr<Normalizer>& part : parts_) {
      PHYLLO_ASSIGN_OR_RETURN(text, part->Normalize(std::move(text), scratch));
      PHYLLO_RETURN_IF_ERROR(CheckNormalizedSize(text.view().size(), original_size));
    }
    return text;
  }

 private:
  const std::vector<std::unique_ptr<Normalizer>> parts_;
};

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalizationForm form) : form_(form) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch*) const override {
    return NormalizeUnicode(std::move(text), form_);
  }

 private:
  const NormalizationForm form_;
};

// Maps each character by itself: to one or two characters, or to none.
class CharacterNormalizer : public Normalizer {
 public:
  using Mapping = void (*)(char32_t code_point, std::string* out);
  explicit CharacterNormalizer(Mapping mapping) : mapping_(mapping) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch*) const override {
    const absl::string_view view = text.view();
    AlignedText result = text.MakeEmpty();
    std::string mapped;
    for (size_t at = 0; at < view.size();) {
      const size_t length = Utf8Length(view[at]);
      mapped.clear();
      mapping_(CodePointAt(view, at), &mapped);
      result.AppendInstead(mapped, text, at, at + length);
      at += length;
    }
    return result;
  }

 private:
  const Mapping mapping_;
};

void Lowercase(char32_t c, std::string* out) {
  if (c == 0x130) {
    // The one character whose lower case is two (SpecialCasing.txt, unconditional).
    out->append("i\xCC\x87");
    return;
  }
  AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
}

void DropMark(char32_t c, std::string* out) {
  if (!IsMark(c)) AppendUtf8(c, out);
}

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch*) const override {
    if (text.view().empty()) return text;
    AlignedText result = text.MakeEmpty();
    result.AppendInstead(prefix_, text, 0, 0);
    result.AppendFrom(text, 0, text.view().size());
    return result;
  }

 private:
  const std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(TextPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch* scratch) const override {
    std::vector<RegexMatch> matches;
    PHYLLO_RETURN_IF_ERROR(pattern_.FindAll(text.view(), scratch, &matches));
    if (matches.empty()) return text;
    AlignedText result = text.MakeEmpty();
    size_t copied = 0;
    for (const RegexMatch& match : matches) {
      result.AppendFrom(text, copied, match.begin);
      result.AppendInstead(content_, text, match.begin, match.end);
      PHYLLO_RETURN_IF_ERROR(CheckNormalizedSize(result.view().size(), text.view().size()));
      copied = match.end;
    }
    result.AppendFrom(text, copied, text.view().size());
    return result;
  }

 private:
  const TextPattern pattern_;
  const std::string content_;
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch*) const override {
    const absl::string_view view = text.view();
    size_t begin = 0, end = view.size();
    while (left_ && begin < end && IsWhitespace(CodePointAt(view, begin)))
      begin += Utf8Length(view[begin]);
    while (right_ && begin < end) {
      const size_t last = PreviousCharacter(view, end);
      if (!IsWhitespace(CodePointAt(view, last))) break;
      end = last;
    }
    if (begin == 0 && end == view.size()) return text;
    AlignedText result = text.MakeEmpty();
    result.AppendFrom(text, begin, end);
    return result;
  }

 private:
  const bool left_;
  const bool right_;
};

// tokenizers, normalizers/precompiled.rs: a grapheme cluster of less than 6 bytes becomes what the
// shortest rule for its begin says, as a whole, whatever else is in it; in all others, and where no
// rule applies, each character is looked up alone.
class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(PrecompiledCharsmap charsmap) : charsmap_(std::move(charsmap)) {}

  absl::StatusOr<AlignedText> Normalize(AlignedText text, RegexScratch*) const override {
    const absl::string_view view = text.view();
    AlignedText result = text.MakeEmpty();
    size_t copied = 0;  // Bytes of `view` that are in `result`.
    const auto replace = [&](size_t begin, size_t end) {
      const PrecompiledCharsmap::Rule rule =
          charsmap_.FindShortest(view.substr(begin, end - begin));
      if (rule.length == 0) return false;
      result.AppendFrom(text, copied, begin);
      result.AppendInstead(rule.replacement, text, begin, end);
      copied = end;
      return true;
    };
    for (size_t at = 0; at < view.size();) {
      const size_t end = EndOfGrapheme(view, at);
      const bool done = end - at < kMaxClusterBytes && replace(at, end);
      while (at < end) {
        const auto length = static_cast<size_t>(Utf8Length(view[at]));
        if (!done) replace(at, at + length);
        at += length;
      }
      PHYLLO_RETURN_IF_ERROR(CheckNormalizedSize(result.view().size(), view.size()));
    }
    if (copied == 0) return text;
    result.AppendFrom(text, copied, view.size());
    return result;
  }

 private:
  static constexpr size_t kMaxClusterBytes = 6;  // Exclusive.

  const PrecompiledCharsmap charsmap_;
};

absl::StatusOr<std::unique_ptr<Normalizer>> MakePrecompiled(const nlohmann::json& component) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string encoded,
                          StringField(component, "precompiled_charsmap"));
  std::string bytes;
  if (!absl::Base64Unescape(encoded, &bytes)) {
    return absl::InvalidArgumentError(
        "normalizer Precompiled: \"precompiled_charsmap\" is not base64");
  }
  PHYLLO_ASSIGN_OR_RETURN(PrecompiledCharsmap charsmap, PrecompiledCharsmap::Parse(bytes));
  return absl::make_unique<PrecompiledNormalizer>(std::move(charsmap));
}

absl::StatusOr<std::unique_ptr<Normalizer>> MakePart(const nlohmann::json& component,
                                                     const std::string& type) {
  if (type == "NFC") return absl::make_unique<UnicodeNormalizer>(NormalizationForm::kNfc);
  if (type == "NFD") return absl::make_unique<UnicodeNormalizer>(NormalizationForm::kNfd);
  if (type == "NFKC") return absl::make_unique<UnicodeNormalizer>(NormalizationForm::kNfkc);
  if (type == "NFKD") return absl::make_unique<UnicodeNormalizer>(NormalizationForm::kNfkd);
  if (type == "Lowercase") return absl::make_unique<CharacterNormalizer>(&Lowercase);
  if (type == "StripAccents") return absl::make_unique<CharacterNormalizer>(&DropMark);
  if (type == "Precompiled") return MakePrecompiled(component);
  if (type == "Prepend") {
    PHYLLO_ASSIGN_OR_RETURN(std::string prefix, StringField(component, "prepend"));
    return absl::make_unique<PrependNormalizer>(std::move(prefix));
  }
  if (type == "Replace") {
    PHYLLO_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::FromJson(component));
    PHYLLO_ASSIGN_OR_RETURN(std::string content, StringField(component, "content"));
    return absl::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content));
  }
  if (type == "Strip") {
    PHYLLO_ASSIGN_OR_RETURN(const bool left, BoolFieldOr(component, "strip_left", true));
    PHYLLO_ASSIGN_OR_RETURN(const bool right, BoolFieldOr(component, "strip_right", true));
    return absl::make_unique<StripNormalizer>(left, right);
  }
  return UnknownComponent("normalizer", type);
}

// Appends what `component` consists of; a Sequence is its parts.
absl::Status AppendParts(const nlohmann::json& component, int depth,
                         std::vector<std::unique_ptr<Normalizer>>* parts) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string type, ComponentType(component));
  if (type != "Sequence") {
    PHYLLO_ASSIGN_OR_RETURN(std::unique_ptr<Normalizer> part, MakePart(component, type));
    parts->push_back(std::move(part));
    return absl::OkStatus();
  }
  const nlohmann::json* list = FindField(component, "normalizers");
  if (list == nullptr || !list->is_array()) {
    return absl::InvalidArgumentError(
        "normalizer Sequence: field \"normalizers\" must be an array");
  }
  if (depth >= kMaxDepth)
    return absl::InvalidArgumentError("normalizer: Sequence nested too deeply");
  for (const nlohmann::json& item : *list) {
    PHYLLO_RETURN_IF_ERROR(AppendParts(item, depth + 1, parts));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Normalizer>> MakeNormalizer(const nlohmann::json& component) {
  if (component.is_null()) return std::unique_ptr<Normalizer>();
  std::vector<std::unique_ptr<Normalizer>> parts;
  PHYLLO_RETURN_IF_ERROR(AppendParts(component, 0, &parts));
  if (parts.size() == 1) return std::move(parts[0]);
  return absl::make_unique<NormalizerSequence>(std::move(parts));
}

absl::Status CheckNormalizedSize(size_t size, size_t original_size) {
  if (size / kMaxGrowth <= original_size + kFreeGrowthBytes / kMaxGrowth) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the normalizer of the tokenizer makes a text of ", original_size,
                   " bytes more than ", kMaxGrowth, " times as long"));
}

}  // namespace phyllo
