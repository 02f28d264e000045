// GGUF files for tests, byte by byte.
#ifndef PHYLLO_MODEL_CHECKPOINT_TESTING_GGUF_BYTES_H_
#define PHYLLO_MODEL_CHECKPOINT_TESTING_GGUF_BYTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/gguf.h"

namespace phyllo {

// Collects keys and tensors and writes them as version 3 with alignment 32. Thread-compatible.
//
//   const std::string file = GgufBytes().Text("general.architecture", "llama").Finish();
class GgufBytes {
 public:
  GgufBytes& Uint32(absl::string_view key, uint32_t value);
  GgufBytes& Float32(absl::string_view key, float value);
  GgufBytes& Bool(absl::string_view key, bool value);
  GgufBytes& Text(absl::string_view key, absl::string_view value);
  GgufBytes& Texts(absl::string_view key, const std::vector<std::string>& values);
  GgufBytes& Int32s(absl::string_view key, const std::vector<int32_t>& values);
  GgufBytes& Float32s(absl::string_view key, const std::vector<float>& values);

  // A value whose bytes, after the type, are `value`.
  GgufBytes& Raw(absl::string_view key, uint32_t type, absl::string_view value);

  // `type` is the format's number; `shape` is outermost first.
  GgufBytes& Tensor(absl::string_view name, uint32_t type, const std::vector<uint64_t>& shape,
                    absl::string_view data);
  // The same at a given offset from the beginning of the data.
  GgufBytes& TensorAt(absl::string_view name, uint32_t type, const std::vector<uint64_t>& shape,
                      uint64_t offset);

  // An F32 tensor of zeros.
  GgufBytes& Zeros(absl::string_view name, const std::vector<uint64_t>& shape);

  std::string Finish() const;

 private:
  int64_t key_count_ = 0;
  int64_t tensor_count_ = 0;
  std::string metadata_;
  std::string descriptions_;
  std::string data_;
};

// `value`, little-endian.
template <typename T>
std::string LittleEndian(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

// A string as the format has it: length and bytes.
std::string GgufString(absl::string_view text);

absl::Span<const uint8_t> AsBytes(const std::string& text);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_TESTING_GGUF_BYTES_H_
