#ifndef PHYLLO_MODEL_PACKED_CACHE_TESTING_MODEL_FOLDER_H_
#define PHYLLO_MODEL_PACKED_CACHE_TESTING_MODEL_FOLDER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace phyllo {

// An empty folder of the running test's own; what was in it before is gone.
std::string NewTestFolder(absl::string_view name);

// Writes `folder`/model.safetensors with one U8 tensor "w" of `size` bytes, all `value`.
void WriteWeights(const std::string& folder, int64_t size, char value);

// The same with zeros that take no room on the disk.
void WriteEmptyWeights(const std::string& folder, int64_t size);

// Changes one bit of the byte at `offset`.
void FlipBit(const std::string& path, int64_t offset);

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, absl::string_view bytes);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_TESTING_MODEL_FOLDER_H_
