#include "model/config/summary/model_summary_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace phyllo {
namespace {

// 1234567 -> "1,234,567".
std::string Grouped(int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped.push_back(',');
    grouped.push_back(digits[i]);
  }
  return grouped;
}

// True if the two modules are the same but for the layer number.
bool SameShape(const ModuleSummary& a, const ModuleSummary& b) {
  return a.kind == b.kind && a.input_shape == b.input_shape && a.output_shape == b.output_shape &&
         a.parameter_count == b.parameter_count && a.weight_bytes == b.weight_bytes &&
         a.weight_type == b.weight_type;
}

// One past the last module of the layer that begins at `begin`.
size_t LayerEnd(const std::vector<ModuleSummary>& modules, size_t begin) {
  size_t end = begin;
  while (end < modules.size() && modules[end].layer == modules[begin].layer) ++end;
  return end;
}

// How many layers from `begin` on, itself included, equal it.
int64_t EqualLayers(const std::vector<ModuleSummary>& modules, size_t begin) {
  const size_t size = LayerEnd(modules, begin) - begin;
  int64_t count = 1;
  for (size_t next = begin + size; next < modules.size() && modules[next].layer >= 0;
       next += size, ++count) {
    if (LayerEnd(modules, next) - next != size) break;
    if (!std::equal(modules.begin() + begin, modules.begin() + begin + size, modules.begin() + next,
                    SameShape))
      break;
  }
  return count;
}

using Cells = std::array<std::string, 7>;

Cells Row(const ModuleSummary& module) {
  return {module.name,
          module.kind,
          module.input_shape,
          module.output_shape,
          module.weight_type,
          Grouped(module.parameter_count),
          Grouped(module.weight_bytes)};
}

// The rows as lines of equally wide columns, words to the left and numbers to the right. A row of
// one cell is a line of its own.
std::string AlignColumns(absl::Span<const Cells> rows) {
  constexpr size_t kFirstNumber = 5;
  std::array<size_t, 7> widths = {};
  for (const Cells& row : rows) {
    if (row[1].empty()) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size() && !(row[1].empty() && i > 0); ++i) {
      if (i > 0) text.append(2, ' ');
      const size_t padding = row[1].empty() ? 0 : widths[i] - row[i].size();
      if (i >= kFirstNumber) text.append(padding, ' ');
      text += row[i];
      if (i < kFirstNumber) text.append(padding, ' ');
    }
    text.push_back('\n');
  }
  return text;
}

}  // namespace

std::string FormatModelSummary(const ModelSummary& summary, bool all_layers) {
  std::vector<Cells> rows = {{"module", "kind", "input", "output", "type", "parameters", "bytes"}};
  const std::vector<ModuleSummary>& modules = summary.modules;
  size_t i = 0;
  while (i < modules.size()) {
    if (modules[i].layer < 0) {
      rows.push_back(Row(modules[i++]));
      continue;
    }
    const size_t size = LayerEnd(modules, i) - i;
    const int64_t layer = modules[i].layer;
    const int64_t equal = all_layers ? 1 : EqualLayers(modules, i);
    for (size_t k = 0; k < size; ++k) rows.push_back(Row(modules[i + k]));
    if (equal > 1) {
      std::string layers = absl::StrCat("layers.", layer + 1);
      if (equal > 2) absl::StrAppend(&layers, " .. layers.", layer + equal - 1);
      rows.push_back({absl::StrCat(layers, ": as layers.", layer)});
    }
    i += size * static_cast<size_t>(equal);
  }
  std::string packed;
  for (const PackedSummary& precision : summary.packed) {
    absl::StrAppend(&packed, packed.empty() ? "" : ", ", Grouped(precision.weight_bytes),
                    packed.empty() ? " bytes in " : " in ", precision.precision);
  }
  return absl::StrCat(AlignColumns(rows), "total: ", Grouped(summary.parameter_count),
                      " parameters, ", Grouped(summary.weight_bytes), " bytes in the file\n",
                      packed.empty() ? "" : absl::StrCat("weights in memory: ", packed, "\n"),
                      "KV cache per token: ", Grouped(summary.kv_bytes_per_token_f32),
                      " bytes in f32, ", Grouped(summary.kv_bytes_per_token_bf16), " in bf16, ",
                      Grouped(summary.kv_bytes_per_token_int8), " in int8\n");
}

}  // namespace phyllo
