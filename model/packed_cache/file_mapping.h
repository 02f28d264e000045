// How the kernel maps the pages of a file into this process.
#ifndef PHYLLO_MODEL_PACKED_CACHE_FILE_MAPPING_H_
#define PHYLLO_MODEL_PACKED_CACHE_FILE_MAPPING_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace phyllo {

// Bytes of the mapping that begins at `address` that are mapped with huge pages of the file
// (FilePmdMapped), according to `smaps`, the text of a /proc/self/smaps. 0 if it does not say.
int64_t ParseHugeFileBytes(absl::string_view smaps, uint64_t address);

// Of this process: of the pages touched so far.
int64_t ReadHugeFileBytes(const void* address);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_PACKED_CACHE_FILE_MAPPING_H_
