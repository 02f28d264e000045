#include "model/checkpoint/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/base/strict_json.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr size_t kMaxDimensions = 16;

// A tensor and where its bytes are in the data part.
struct Entry {
  TensorView view;
  int64_t begin = 0;
  int64_t end = 0;
};

std::optional<int64_t> NonNegative(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  const int64_t number = value.get<int64_t>();
  if (number < 0) return std::nullopt;
  return number;
}

// Names come from the file: a message shows them escaped and cut.
std::string Shown(absl::string_view text) {
  constexpr size_t kLongest = 120;
  return text.size() <= kLongest ? absl::CHexEscape(text)
                                 : absl::StrCat(absl::CHexEscape(text.substr(0, kLongest)), "...");
}

absl::Status Fault(absl::string_view what, absl::string_view tensor, absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": tensor \"", Shown(tensor), "\": ", message));
}

absl::Status ReadShape(const Json& json, absl::string_view what, Entry& entry) {
  const std::string& name = entry.view.name;
  const auto it = json.find("shape");
  if (it == json.end() || !it->is_array())
    return Fault(what, name, "shape is missing or not a list");
  if (it->size() > kMaxDimensions)
    return Fault(what, name,
                 absl::StrCat("shape has ", it->size(), " dimensions, more than ", kMaxDimensions));
  int64_t bytes = ByteSize(entry.view.dtype);
  for (const Json& dimension : *it) {
    const std::optional<int64_t> size = NonNegative(dimension);
    if (!size.has_value()) return Fault(what, name, "shape holds something other than sizes");
    if (__builtin_mul_overflow(bytes, *size, &bytes))
      return Fault(what, name, "shape is too large: its size in bytes overflows");
    entry.view.shape.push_back(*size);
  }
  const int64_t have = entry.end - entry.begin;
  if (bytes != have) {
    return Fault(what, name,
                 absl::StrCat("has ", have, " bytes, its shape and dtype ",
                              DTypeName(entry.view.dtype), " need ", bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<Entry> ReadEntry(const std::string& name, const Json& json, int64_t data_bytes,
                                absl::string_view what) {
  Entry entry;
  entry.view.name = name;
  if (!json.is_object()) return Fault(what, name, "its description is not an object");
  const auto dtype = json.find("dtype");
  if (dtype == json.end() || !dtype->is_string())
    return Fault(what, name, "dtype is missing or not a string");
  const std::optional<DType> known = ParseDType(dtype->get_ref<const std::string&>());
  if (!known.has_value())
    return Fault(
        what, name,
        absl::StrCat("dtype \"", Shown(dtype->get_ref<const std::string&>()), "\" is unknown"));
  entry.view.dtype = *known;
  const auto offsets = json.find("data_offsets");
  if (offsets == json.end() || !offsets->is_array() || offsets->size() != 2) {
    return Fault(what, name, "data_offsets is missing or not two numbers");
  }
  const std::optional<int64_t> begin = NonNegative((*offsets)[0]);
  const std::optional<int64_t> end = NonNegative((*offsets)[1]);
  if (!begin.has_value() || !end.has_value() || *begin > *end || *end > data_bytes) {
    return Fault(what, name,
                 absl::StrCat("data_offsets ", Shown(offsets->dump()),
                              " are outside the data, which has ", data_bytes, " bytes"));
  }
  entry.begin = *begin;
  entry.end = *end;
  PHYLLO_RETURN_IF_ERROR(ReadShape(json, what, entry));
  return entry;
}

// Sorts by offset and checks that the entries cover [0, data_bytes) exactly.
absl::Status CheckLayout(std::vector<Entry>& entries, int64_t data_bytes, absl::string_view what) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t covered = 0;
  for (const Entry& entry : entries) {
    if (entry.begin < covered)
      return Fault(what, entry.view.name,
                   absl::StrCat("overlaps the tensor before it at offset ", entry.begin));
    if (entry.begin > covered)
      return Fault(what, entry.view.name,
                   absl::StrCat("leaves a gap of ", entry.begin - covered, " bytes before it"));
    covered = entry.end;
  }
  if (covered != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", data_bytes - covered, " bytes at the end belong to no tensor"));
  }
  return absl::OkStatus();
}

// The header's text.
absl::StatusOr<absl::string_view> HeaderText(absl::Span<const uint8_t> file,
                                             absl::string_view what) {
  const int64_t size = static_cast<int64_t>(file.size());
  if (size < kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": truncated: ", size, " bytes, a safetensors file has at least 8"));
  }
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | file[i];
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeaderBytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": the header has ", length, " bytes, more than ", kMaxSafetensorsHeaderBytes));
  }
  if (static_cast<int64_t>(length) > size - kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": truncated: the header has ", length, " bytes, the file ", size));
  }
  return absl::string_view(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
}

}  // namespace

absl::StatusOr<std::vector<TensorView>> ParseSafetensors(absl::Span<const uint8_t> file,
                                                         absl::string_view what) {
  PHYLLO_ASSIGN_OR_RETURN(const absl::string_view text, HeaderText(file, what));
  PHYLLO_ASSIGN_OR_RETURN(const Json header, ParseJsonObject(text, what));
  const absl::Span<const uint8_t> data = file.subspan(kLengthBytes + text.size());
  const int64_t data_bytes = static_cast<int64_t>(data.size());
  std::vector<Entry> entries;
  entries.reserve(header.size());
  for (const auto& item : header.items()) {
    if (item.key() == "__metadata__") continue;
    PHYLLO_ASSIGN_OR_RETURN(Entry entry, ReadEntry(item.key(), item.value(), data_bytes, what));
    entry.view.data = data.subspan(entry.begin, entry.end - entry.begin);
    entries.push_back(std::move(entry));
  }
  PHYLLO_RETURN_IF_ERROR(CheckLayout(entries, data_bytes, what));
  std::vector<TensorView> views;
  views.reserve(entries.size());
  for (Entry& entry : entries) views.push_back(std::move(entry.view));
  return views;
}

absl::StatusOr<ShardIndex> ParseShardIndex(absl::string_view json, absl::string_view what) {
  PHYLLO_ASSIGN_OR_RETURN(const Json index, ParseJsonObject(json, what));
  const auto weight_map = index.find("weight_map");
  if (weight_map == index.end() || !weight_map->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": weight_map is missing or not an object"));
  }
  if (weight_map->empty())
    return absl::InvalidArgumentError(absl::StrCat(what, ": weight_map names no tensor"));
  ShardIndex result;
  for (const auto& item : weight_map->items()) {
    if (!item.value().is_string()) return Fault(what, item.key(), "its shard is not a string");
    const auto& shard = item.value().get_ref<const std::string&>();
    const bool inside = !shard.empty() && shard != "." && shard != ".." &&
                        !absl::StrContains(shard, '/') && shard.find('\0') == std::string::npos;
    if (!inside)
      return Fault(what, item.key(),
                   absl::StrCat("its shard \"", Shown(shard),
                                "\" is not a file name of the model's folder"));
    result.weight_map.emplace(item.key(), shard);
  }
  return result;
}

std::string SafetensorsHeader(absl::Span<const TensorDeclaration> tensors) {
  Json header = Json::object();
  header["__metadata__"] = {{"format", "pt"}};  // readers of the reference library ask for it
  int64_t offset = 0;
  for (const TensorDeclaration& tensor : tensors) {
    int64_t bytes = ByteSize(tensor.dtype);
    for (const int64_t size : tensor.shape) bytes *= size;
    header[tensor.name] = {{"dtype", std::string(DTypeName(tensor.dtype))},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes,
              ' ');  // aligns the data
  std::string bytes;
  for (int i = 0; i < kLengthBytes; ++i)
    bytes.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  return bytes + text;
}

}  // namespace phyllo
