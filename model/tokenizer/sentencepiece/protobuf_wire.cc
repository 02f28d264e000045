#include "model/tokenizer/sentencepiece/protobuf_wire.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

absl::Status CutOff() { return absl::InvalidArgumentError("protocol buffer: cut off"); }

}  // namespace

absl::StatusOr<uint64_t> WireReader::ReadVarint() {
  uint64_t value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (i >= rest_.size()) return CutOff();
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return absl::InvalidArgumentError("protocol buffer: a varint has more than 10 bytes");
}

absl::StatusOr<uint64_t> WireReader::ReadFixed(size_t size) {
  if (rest_.size() < size) return CutOff();
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[i]);
  rest_.remove_prefix(size);
  return value;
}

absl::StatusOr<WireField> WireReader::Next() {
  PHYLLO_ASSIGN_OR_RETURN(const uint64_t key, ReadVarint());
  WireField field;
  if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF)
    return absl::InvalidArgumentError(absl::StrCat("protocol buffer: tag ", key >> 3));
  field.tag = static_cast<int32_t>(key >> 3);
  switch (key & 7) {
    case 0: {
      PHYLLO_ASSIGN_OR_RETURN(field.number, ReadVarint());
      return field;
    }
    case 1: {
      field.kind = WireField::Kind::kFixed64;
      PHYLLO_ASSIGN_OR_RETURN(field.number, ReadFixed(8));
      return field;
    }
    case 2: {
      field.kind = WireField::Kind::kBytes;
      PHYLLO_ASSIGN_OR_RETURN(const uint64_t size, ReadVarint());
      if (size > rest_.size()) return CutOff();
      field.bytes = rest_.substr(0, static_cast<size_t>(size));
      rest_.remove_prefix(static_cast<size_t>(size));
      return field;
    }
    case 5: {
      field.kind = WireField::Kind::kFixed32;
      PHYLLO_ASSIGN_OR_RETURN(field.number, ReadFixed(4));
      return field;
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("protocol buffer: wire type ", key & 7, " of tag ", field.tag));
  }
}

}  // namespace phyllo
