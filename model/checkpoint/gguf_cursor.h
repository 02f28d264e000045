// The bytes of a GGUF file, one after the other.
#ifndef PHYLLO_MODEL_CHECKPOINT_GGUF_CURSOR_H_
#define PHYLLO_MODEL_CHECKPOINT_GGUF_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"

namespace phyllo {

// Text of the file for a message: printable and short.
inline std::string Shown(absl::string_view text) {
  constexpr size_t kLongest = 100;
  return absl::StrCat(absl::CEscape(text.substr(0, kLongest)), text.size() > kLongest ? "..." : "");
}

// Reads forward through a file and never past its end. Borrows the file and its name. Errors are
// INVALID_ARGUMENT with the name of the file and the place. Thread-compatible.
class GgufCursor {
 public:
  GgufCursor(absl::Span<const uint8_t> file, absl::string_view what) : file_(file), what_(what) {}

  int64_t offset() const { return offset_; }
  int64_t left() const { return static_cast<int64_t>(file_.size()) - offset_; }

  absl::Status Fault(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", message));
  }

  // `part` says what is being read.
  absl::StatusOr<absl::string_view> Bytes(uint64_t count, absl::string_view part) {
    if (count > static_cast<uint64_t>(left())) {
      return Fault(absl::StrCat("truncated: ", part, " at byte ", offset_, " has ", count,
                                " bytes, ", left(), " are left"));
    }
    const absl::string_view bytes(reinterpret_cast<const char*>(file_.data()) + offset_, count);
    offset_ += static_cast<int64_t>(count);
    return bytes;
  }

  template <typename T>
  absl::StatusOr<T> Number(absl::string_view part) {
    PHYLLO_ASSIGN_OR_RETURN(const absl::string_view bytes, Bytes(sizeof(T), part));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  absl::StatusOr<absl::string_view> String(absl::string_view part) {
    PHYLLO_ASSIGN_OR_RETURN(const uint64_t length, Number<uint64_t>(part));
    return Bytes(length, part);
  }

  // A count of things of at least `min_bytes` bytes each.
  absl::StatusOr<int64_t> Count(absl::string_view part, int64_t min_bytes) {
    PHYLLO_ASSIGN_OR_RETURN(const uint64_t count, Number<uint64_t>(part));
    if (count > static_cast<uint64_t>(left() / min_bytes)) {
      return Fault(absl::StrCat(part, " is ", count, ", more than the ", left(),
                                " bytes that are left can hold"));
    }
    return static_cast<int64_t>(count);
  }

 private:
  const absl::Span<const uint8_t> file_;
  const absl::string_view what_;
  int64_t offset_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_GGUF_CURSOR_H_
