// The GGUF format, versions 2 and 3: a header, metadata as key-value pairs, tensor descriptions,
// and the tensors' bytes at aligned offsets, all little-endian.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#ifndef PHYLLO_MODEL_CHECKPOINT_GGUF_H_
#define PHYLLO_MODEL_CHECKPOINT_GGUF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/tensor_view.h"

namespace phyllo {

// The types of metadata values, with the numbers of the format.
enum class GgufType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// The name for messages, such as "uint32".
absl::string_view GgufTypeName(GgufType type);

// A metadata value. Borrows its strings from the file.
struct GgufValue {
  GgufType type = GgufType::kBool;
  int64_t integer = 0;          // integer types; uint64 values above INT64_MAX become INT64_MAX
  double number = 0;            // kFloat32, kFloat64
  bool boolean = false;         // kBool
  absl::string_view text = {};  // kString: any bytes

  // kArray: the type of the elements and the elements; arrays of arrays have none.
  GgufType element_type = GgufType::kBool;
  std::vector<absl::string_view> texts = {};  // of kString
  std::vector<int64_t> integers = {};         // of integer types and kBool
  std::vector<double> numbers = {};           // of kFloat32, kFloat64
};

// What a file holds. Borrows the file's bytes. Immutable after parsing, hence thread-safe.
struct GgufContents {
  uint32_t version = 0;
  absl::flat_hash_map<absl::string_view, GgufValue> metadata;
  // In the file's order; shapes outermost first, as everywhere (the file has them the other way
  // round). Every view lies inside the file; no two overlap.
  std::vector<TensorView> tensors;
  // Header, metadata and descriptions end here; the tensors' bytes begin at the next multiple of
  // the alignment.
  int64_t head_bytes = 0;

  // The value of that key, or null.
  const GgufValue* Find(absl::string_view key) const;
};

// True if the bytes begin as a GGUF file does.
bool IsGguf(absl::Span<const uint8_t> file);

// Reads the file whose bytes are `file`; `what` names it in messages. Takes memory in proportion to
// the file's metadata. Thread-safe. Errors, naming the place (key, tensor, or byte):
// - INVALID_ARGUMENT: not GGUF, another version, big-endian, truncated, a count or length beyond
// the
//   end of the file, an unknown value type, arrays nested deeper than 8, a key or tensor that is
//   there twice, more than 4 dimensions, a size that overflows, rows that are not whole blocks, an
//   offset that is not aligned, overlapping or out-of-range tensors.
// - UNIMPLEMENTED: a tensor type that this library does not read, by name.
absl::StatusOr<GgufContents> ParseGguf(absl::Span<const uint8_t> file, absl::string_view what);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_GGUF_H_
