// Reads the wire format of protocol buffers, as far as a file of known layout needs it.
#ifndef PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_PROTOBUF_WIRE_H_
#define PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_PROTOBUF_WIRE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// One field of a message. `bytes` is set for length-delimited fields (strings, bytes, messages) and
// lies in the message; `number` for all others, a float as its bits.
struct WireField {
  enum class Kind { kVarint, kFixed64, kBytes, kFixed32 };
  int32_t tag = 0;
  Kind kind = Kind::kVarint;
  uint64_t number = 0;
  absl::string_view bytes;
};

// Goes through the fields of one message, in order. Allocates nothing; a field inside a field is
// read by a reader of its own. Thread-compatible. Borrows the message.
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : rest_(message) {}

  bool AtEnd() const { return rest_.empty(); }

  // The next field. REQUIRES: !AtEnd(). Errors: INVALID_ARGUMENT (the message is cut off, a tag is
  // 0, a group, which no file of today has).
  absl::StatusOr<WireField> Next();

 private:
  absl::StatusOr<uint64_t> ReadVarint();
  absl::StatusOr<uint64_t> ReadFixed(size_t size);

  absl::string_view rest_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_PROTOBUF_WIRE_H_
