#include "tests/golden/tokenizers/xz_file.h"

#include <lzma.h>

#include <cstdint>
#include <fstream>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

}  // namespace

absl::StatusOr<std::string> ReadPlainOrXz(const std::string& path) {
  absl::StatusOr<std::string> plain = ReadFile(path);
  if (plain.ok()) return plain;
  absl::StatusOr<std::string> packed = ReadFile(path + ".xz");
  if (!packed.ok()) return plain.status();
  for (size_t capacity = packed->size() * 8; capacity <= kMaxBytes; capacity *= 2) {
    std::string result(capacity, '\0');
    uint64_t memory_limit = UINT64_MAX;
    size_t read = 0, written = 0;
    const lzma_ret code = lzma_stream_buffer_decode(
        &memory_limit, 0, nullptr, reinterpret_cast<const uint8_t*>(packed->data()), &read,
        packed->size(), reinterpret_cast<uint8_t*>(&result[0]), &written, result.size());
    if (code == LZMA_BUF_ERROR) continue;
    if (code != LZMA_OK)
      return absl::DataLossError(absl::StrCat(path, ".xz: liblzma code ", static_cast<int>(code)));
    result.resize(written);
    return result;
  }
  return absl::DataLossError(absl::StrCat(path, ".xz is larger than ", kMaxBytes, " bytes"));
}

}  // namespace phyllo
