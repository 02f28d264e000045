#include "model/checkpoint/testing/gguf_bytes.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/gguf.h"

namespace phyllo {
namespace {

constexpr size_t kAlignment = 32;

void Pad(std::string& bytes) {
  bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
}

template <typename T>
std::string Array(GgufType type, const std::vector<T>& values) {
  std::string bytes = LittleEndian(static_cast<uint32_t>(type));
  bytes += LittleEndian(static_cast<uint64_t>(values.size()));
  for (const T& value : values) bytes += LittleEndian(value);
  return bytes;
}

}  // namespace

std::string GgufString(absl::string_view text) {
  return absl::StrCat(LittleEndian(static_cast<uint64_t>(text.size())), text);
}

absl::Span<const uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

GgufBytes& GgufBytes::Raw(absl::string_view key, uint32_t type, absl::string_view value) {
  absl::StrAppend(&metadata_, GgufString(key), LittleEndian(type), value);
  ++key_count_;
  return *this;
}

GgufBytes& GgufBytes::Uint32(absl::string_view key, uint32_t value) {
  return Raw(key, 4, LittleEndian(value));
}

GgufBytes& GgufBytes::Float32(absl::string_view key, float value) {
  return Raw(key, 6, LittleEndian(value));
}

GgufBytes& GgufBytes::Bool(absl::string_view key, bool value) {
  return Raw(key, 7, LittleEndian(static_cast<uint8_t>(value)));
}

GgufBytes& GgufBytes::Text(absl::string_view key, absl::string_view value) {
  return Raw(key, 8, GgufString(value));
}

GgufBytes& GgufBytes::Texts(absl::string_view key, const std::vector<std::string>& values) {
  std::string bytes = LittleEndian(uint32_t{8});
  bytes += LittleEndian(static_cast<uint64_t>(values.size()));
  for (const std::string& value : values) bytes += GgufString(value);
  return Raw(key, 9, bytes);
}

GgufBytes& GgufBytes::Int32s(absl::string_view key, const std::vector<int32_t>& values) {
  return Raw(key, 9, Array(GgufType::kInt32, values));
}

GgufBytes& GgufBytes::Float32s(absl::string_view key, const std::vector<float>& values) {
  return Raw(key, 9, Array(GgufType::kFloat32, values));
}

GgufBytes& GgufBytes::TensorAt(absl::string_view name, uint32_t type,
                               const std::vector<uint64_t>& shape, uint64_t offset) {
  absl::StrAppend(&descriptions_, GgufString(name),
                  LittleEndian(static_cast<uint32_t>(shape.size())));
  for (auto size = shape.rbegin(); size != shape.rend(); ++size)
    descriptions_ += LittleEndian(*size);
  absl::StrAppend(&descriptions_, LittleEndian(type), LittleEndian(offset));
  ++tensor_count_;
  return *this;
}

GgufBytes& GgufBytes::Tensor(absl::string_view name, uint32_t type,
                             const std::vector<uint64_t>& shape, absl::string_view data) {
  Pad(data_);
  TensorAt(name, type, shape, data_.size());
  absl::StrAppend(&data_, data);
  return *this;
}

GgufBytes& GgufBytes::Zeros(absl::string_view name, const std::vector<uint64_t>& shape) {
  uint64_t elements = 1;
  for (const uint64_t size : shape) elements *= size;
  return Tensor(name, 0, shape, std::string(elements * sizeof(float), '\0'));
}

std::string GgufBytes::Finish() const {
  std::string file = "GGUF";
  absl::StrAppend(&file, LittleEndian(uint32_t{3}),
                  LittleEndian(static_cast<uint64_t>(tensor_count_)),
                  LittleEndian(static_cast<uint64_t>(key_count_)), metadata_, descriptions_);
  Pad(file);
  return file + data_;
}

}  // namespace phyllo
