// The text is cut into chunks that begin at characters which neither change nor combine with what
// stands before them; a chunk of one such character is copied, all others are normalized alone.
// Canonical ordering is a stable sort per run of marks: utf8proc's own reordering is quadratic in
// the length of a run, which a hostile text can make long.
#include "model/tokenizer/text/unicode_normalization.h"

#include <utf8proc.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

bool IsCompatibility(NormalizationForm form) {
  return form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
}

bool IsComposed(NormalizationForm form) {
  return form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
}

// Whether the character is left alone by the form and never combines with an earlier one.
bool IsInert(char32_t c, NormalizationForm form) {
  if (c < 0x80) return true;
  if (form == NormalizationForm::kNfc && c < 0x300) return true;
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF);  // Unified ideographs.
}

// The length of the chunk that begins at `begin`.
size_t ChunkLength(absl::string_view text, size_t begin, NormalizationForm form) {
  size_t at = begin + Utf8Length(text[begin]);
  while (at < text.size() && !IsInert(CodePointAt(text, at), form)) at += Utf8Length(text[at]);
  return at - begin;
}

void Decompose(absl::string_view chunk, NormalizationForm form,
               std::vector<utf8proc_int32_t>* out) {
  const int options =
      UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (IsCompatibility(form) ? UTF8PROC_COMPAT : 0);
  for (size_t at = 0; at < chunk.size(); at += Utf8Length(chunk[at])) {
    utf8proc_int32_t expansion[32];  // The longest is 18 (U+FDFA).
    const auto code_point = static_cast<utf8proc_int32_t>(CodePointAt(chunk, at));
    int last_boundary_class = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        code_point, expansion, 32, static_cast<utf8proc_option_t>(options), &last_boundary_class);
    if (count < 0 || count > 32) {
      out->push_back(code_point);
    } else {
      out->insert(out->end(), expansion, expansion + count);
    }
  }
}

int CombiningClass(utf8proc_int32_t code_point) {
  return static_cast<int>(utf8proc_get_property(code_point)->combining_class);
}

void ReorderMarks(std::vector<utf8proc_int32_t>* code_points) {
  auto run = code_points->begin();
  while (run != code_points->end()) {
    run = std::find_if(run, code_points->end(),
                       [](utf8proc_int32_t c) { return CombiningClass(c) != 0; });
    const auto end = std::find_if(run, code_points->end(),
                                  [](utf8proc_int32_t c) { return CombiningClass(c) == 0; });
    std::stable_sort(run, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return CombiningClass(a) < CombiningClass(b);
    });
    run = end;
  }
}

std::string NormalizeChunk(absl::string_view chunk, NormalizationForm form) {
  std::vector<utf8proc_int32_t> code_points;
  Decompose(chunk, form, &code_points);
  ReorderMarks(&code_points);
  auto count = static_cast<utf8proc_ssize_t>(code_points.size());
  if (IsComposed(form)) {
    count = utf8proc_normalize_utf32(
        code_points.data(), count,
        static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  std::string result;
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    AppendUtf8(static_cast<char32_t>(code_points[i]), &result);
  return result;
}

}  // namespace

AlignedText NormalizeUnicode(AlignedText text, NormalizationForm form) {
  const absl::string_view view = text.view();
  AlignedText result = text.MakeEmpty();
  bool changed = false;
  size_t copied = 0;  // Bytes of `view` that are in `result`, once it is in use.
  for (size_t at = 0; at < view.size();) {
    if (static_cast<unsigned char>(view[at]) < 0x80 &&
        (at + 1 == view.size() || static_cast<unsigned char>(view[at + 1]) < 0x80)) {
      ++at;
      continue;
    }
    const size_t length = ChunkLength(view, at, form);
    const bool alone =
        length == static_cast<size_t>(Utf8Length(view[at])) && IsInert(CodePointAt(view, at), form);
    if (!alone) {
      const absl::string_view chunk = view.substr(at, length);
      const std::string normalized = NormalizeChunk(chunk, form);
      if (normalized != chunk) {
        result.AppendFrom(text, copied, at);
        result.AppendInstead(normalized, text, at, at + length);
        copied = at + length;
        changed = true;
      }
    }
    at += length;
  }
  if (!changed) return text;
  result.AppendFrom(text, copied, view.size());
  return result;
}

}  // namespace phyllo
