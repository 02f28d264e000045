// Reads a file that may be compressed with xz.
#ifndef PHYLLO_TESTS_GOLDEN_TOKENIZERS_XZ_FILE_H_
#define PHYLLO_TESTS_GOLDEN_TOKENIZERS_XZ_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace phyllo {

// The contents of `path` or, if there is no such file, of `path`.xz, decompressed.
// Errors: NOT_FOUND (neither exists), DATA_LOSS (not an xz stream, or larger than 256 MiB).
absl::StatusOr<std::string> ReadPlainOrXz(const std::string& path);

}  // namespace phyllo

#endif  // PHYLLO_TESTS_GOLDEN_TOKENIZERS_XZ_FILE_H_
