#include "model/checkpoint/gguf.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/gguf_cursor.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

// Invariants: a count from the file is compared with the bytes that are left before anything is
// sized by it, and nothing is read but through GgufCursor, which knows the end of the file.

namespace phyllo {
namespace {

constexpr absl::string_view kMagic = "GGUF";
constexpr absl::string_view kAlignmentKey = "general.alignment";
constexpr int64_t kDefaultAlignment = 32;
constexpr int64_t kMaxAlignment = 1 << 20;
constexpr int kMaxArrayDepth = 8;
constexpr uint32_t kMaxDimensions = 4;

// Tensor types by their numbers in the format. Those without `dtype` are refused by name.
struct TensorType {
  uint32_t number;
  absl::string_view name;
  bool supported = false;
  DType dtype = DType::kF32;
};

constexpr TensorType kTensorTypes[] = {
    {0, "F32", true, DType::kF32},
    {1, "F16", true, DType::kF16},
    {2, "Q4_0", true, DType::kQ4_0},
    {3, "Q4_1", true, DType::kQ4_1},
    {6, "Q5_0", true, DType::kQ5_0},
    {7, "Q5_1", true, DType::kQ5_1},
    {8, "Q8_0", true, DType::kQ8_0},
    {9, "Q8_1"},
    {10, "Q2_K", true, DType::kQ2K},
    {11, "Q3_K", true, DType::kQ3K},
    {12, "Q4_K", true, DType::kQ4K},
    {13, "Q5_K", true, DType::kQ5K},
    {14, "Q6_K", true, DType::kQ6K},
    {15, "Q8_K"},
    {16, "IQ2_XXS"},
    {17, "IQ2_XS"},
    {18, "IQ3_XXS"},
    {19, "IQ1_S"},
    {20, "IQ4_NL"},
    {21, "IQ3_S"},
    {22, "IQ2_S"},
    {23, "IQ4_XS"},
    {24, "I8", true, DType::kI8},
    {25, "I16", true, DType::kI16},
    {26, "I32", true, DType::kI32},
    {27, "I64", true, DType::kI64},
    {28, "F64", true, DType::kF64},
    {29, "IQ1_M"},
    {30, "BF16", true, DType::kBf16},
    {34, "TQ1_0"},
    {35, "TQ2_0"},
    {39, "MXFP4"},
    {40, "NVFP4"},
};

// Bytes of a scalar type; 0 for strings and arrays.
int64_t ScalarBytes(GgufType type) {
  switch (type) {
    case GgufType::kUint8:
    case GgufType::kInt8:
    case GgufType::kBool:
      return 1;
    case GgufType::kUint16:
    case GgufType::kInt16:
      return 2;
    case GgufType::kUint32:
    case GgufType::kInt32:
    case GgufType::kFloat32:
      return 4;
    case GgufType::kUint64:
    case GgufType::kInt64:
    case GgufType::kFloat64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

absl::StatusOr<GgufType> ReadType(GgufCursor& cursor, absl::string_view key) {
  PHYLLO_ASSIGN_OR_RETURN(const uint32_t number, cursor.Number<uint32_t>("a value type"));
  if (number > static_cast<uint32_t>(GgufType::kFloat64)) {
    return cursor.Fault(
        absl::StrCat("key \"", Shown(key), "\": value type ", number, " is unknown"));
  }
  return static_cast<GgufType>(number);
}

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

int64_t IntegerAt(GgufType type, const char* bytes) {
  switch (type) {
    case GgufType::kUint8:
      return Load<uint8_t>(bytes);
    case GgufType::kInt8:
      return Load<int8_t>(bytes);
    case GgufType::kUint16:
      return Load<uint16_t>(bytes);
    case GgufType::kInt16:
      return Load<int16_t>(bytes);
    case GgufType::kUint32:
      return Load<uint32_t>(bytes);
    case GgufType::kInt32:
      return Load<int32_t>(bytes);
    case GgufType::kUint64: {
      constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
      return static_cast<int64_t>(std::min(Load<uint64_t>(bytes), kMax));
    }
    case GgufType::kInt64:
      return Load<int64_t>(bytes);
    default:
      return Load<uint8_t>(bytes) != 0;  // kBool
  }
}

bool IsFloat(GgufType type) { return type == GgufType::kFloat32 || type == GgufType::kFloat64; }

double FloatAt(GgufType type, const char* bytes) {
  return type == GgufType::kFloat32 ? static_cast<double>(Load<float>(bytes)) : Load<double>(bytes);
}

// The elements of an array; `value` null = they are read past and not kept.
absl::Status ReadArray(GgufCursor& cursor, absl::string_view key, int depth, GgufValue* value) {
  if (depth > kMaxArrayDepth) {
    return cursor.Fault(
        absl::StrCat("key \"", Shown(key), "\": arrays nested deeper than ", kMaxArrayDepth));
  }
  PHYLLO_ASSIGN_OR_RETURN(const GgufType type, ReadType(cursor, key));
  const std::string part = absl::StrCat("the array of key \"", Shown(key), "\"");
  const int64_t bytes = ScalarBytes(type);
  const int64_t min_bytes = type == GgufType::kArray ? 12 : bytes == 0 ? 8 : bytes;
  PHYLLO_ASSIGN_OR_RETURN(const int64_t count, cursor.Count(part, min_bytes));
  if (value != nullptr) value->element_type = type;
  if (type == GgufType::kArray) {
    for (int64_t i = 0; i < count; ++i)
      PHYLLO_RETURN_IF_ERROR(ReadArray(cursor, key, depth + 1, nullptr));
    return absl::OkStatus();
  }
  if (type == GgufType::kString) {
    if (value != nullptr) value->texts.reserve(count);
    for (int64_t i = 0; i < count; ++i) {
      PHYLLO_ASSIGN_OR_RETURN(const absl::string_view text, cursor.String(part));
      if (value != nullptr) value->texts.push_back(text);
    }
    return absl::OkStatus();
  }
  PHYLLO_ASSIGN_OR_RETURN(const absl::string_view data, cursor.Bytes(count * bytes, part));
  if (value == nullptr) return absl::OkStatus();
  for (int64_t i = 0; i < count; ++i) {
    if (IsFloat(type)) {
      value->numbers.push_back(FloatAt(type, data.data() + i * bytes));
    } else {
      value->integers.push_back(IntegerAt(type, data.data() + i * bytes));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<GgufValue> ReadValue(GgufCursor& cursor, absl::string_view key) {
  GgufValue value;
  PHYLLO_ASSIGN_OR_RETURN(value.type, ReadType(cursor, key));
  if (value.type == GgufType::kArray) {
    PHYLLO_RETURN_IF_ERROR(ReadArray(cursor, key, 1, &value));
    return value;
  }
  const std::string part = absl::StrCat("the value of key \"", Shown(key), "\"");
  if (value.type == GgufType::kString) {
    PHYLLO_ASSIGN_OR_RETURN(value.text, cursor.String(part));
    return value;
  }
  PHYLLO_ASSIGN_OR_RETURN(const absl::string_view bytes,
                          cursor.Bytes(ScalarBytes(value.type), part));
  if (IsFloat(value.type)) {
    value.number = FloatAt(value.type, bytes.data());
  } else if (value.type == GgufType::kBool) {
    value.boolean = bytes[0] != 0;
  } else {
    value.integer = IntegerAt(value.type, bytes.data());
  }
  return value;
}

// A tensor whose bytes are not yet known to lie in the file.
struct Description {
  TensorView view;
  uint64_t offset = 0;  // from the beginning of the data
  int64_t bytes = 0;
};

absl::Status ReadShape(GgufCursor& cursor, const std::string& part, TensorView& view) {
  PHYLLO_ASSIGN_OR_RETURN(const uint32_t dimensions, cursor.Number<uint32_t>(part));
  if (dimensions > kMaxDimensions) {
    return cursor.Fault(
        absl::StrCat(part, " has ", dimensions, " dimensions, more than ", kMaxDimensions));
  }
  constexpr int64_t kMaxElements = int64_t{1} << 48;
  int64_t elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    PHYLLO_ASSIGN_OR_RETURN(const uint64_t size, cursor.Number<uint64_t>(part));
    if (size < 1 || size > static_cast<uint64_t>(kMaxElements / elements)) {
      return cursor.Fault(
          absl::StrCat(part, ": a dimension is ", size, ", outside of 1 .. 2^48 elements in all"));
    }
    elements *= static_cast<int64_t>(size);
    view.shape.insert(view.shape.begin(), static_cast<int64_t>(size));
  }
  return absl::OkStatus();
}

absl::StatusOr<DType> ReadTensorType(GgufCursor& cursor, absl::string_view what,
                                     const std::string& part) {
  PHYLLO_ASSIGN_OR_RETURN(const uint32_t number, cursor.Number<uint32_t>(part));
  for (const TensorType& type : kTensorTypes) {
    if (type.number != number) continue;
    if (type.supported) return type.dtype;
    return absl::UnimplementedError(
        absl::StrCat(what, ": ", part, " is of type ", type.name, ", which is not supported"));
  }
  return absl::UnimplementedError(
      absl::StrCat(what, ": ", part, " is of type ", number, ", which is not known"));
}

absl::StatusOr<Description> ReadDescription(GgufCursor& cursor, absl::string_view what) {
  Description description;
  PHYLLO_ASSIGN_OR_RETURN(const absl::string_view name, cursor.String("a tensor's name"));
  description.view.name = std::string(name);
  const std::string part = absl::StrCat("tensor \"", Shown(name), "\"");
  PHYLLO_RETURN_IF_ERROR(ReadShape(cursor, part, description.view));
  PHYLLO_ASSIGN_OR_RETURN(description.view.dtype, ReadTensorType(cursor, what, part));
  PHYLLO_ASSIGN_OR_RETURN(description.offset, cursor.Number<uint64_t>(part));
  const int64_t block = BlockElements(description.view.dtype);
  const int64_t row = description.view.shape.empty() ? 1 : description.view.shape.back();
  if (row % block != 0) {
    return cursor.Fault(absl::StrCat(part, ": its rows of ", row,
                                     " elements are not whole blocks of ", block, " (",
                                     DTypeName(description.view.dtype), ")"));
  }
  description.bytes = RunBytes(description.view.dtype, description.view.num_elements());
  return description;
}

absl::StatusOr<int64_t> Alignment(const GgufContents& contents, const GgufCursor& cursor) {
  const GgufValue* const value = contents.Find(kAlignmentKey);
  if (value == nullptr) return kDefaultAlignment;
  if (value->integer < 1 || value->integer > kMaxAlignment ||
      !std::has_single_bit(static_cast<uint64_t>(value->integer))) {
    return cursor.Fault(absl::StrCat(kAlignmentKey, " must be a power of two up to ", kMaxAlignment,
                                     ", is ", GgufTypeName(value->type), " ", value->integer));
  }
  return value->integer;
}

// Gives each description its bytes.
absl::Status PlaceTensors(absl::Span<const uint8_t> data, int64_t alignment,
                          const GgufCursor& cursor, std::vector<Description>& descriptions) {
  std::vector<Description*> by_offset;
  for (Description& description : descriptions) by_offset.push_back(&description);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const Description* a, const Description* b) { return a->offset < b->offset; });
  uint64_t covered = 0;
  for (Description* const description : by_offset) {
    const std::string part = absl::StrCat("tensor \"", Shown(description->view.name), "\"");
    const uint64_t offset = description->offset;
    if (offset % static_cast<uint64_t>(alignment) != 0) {
      return cursor.Fault(
          absl::StrCat(part, ": offset ", offset, " is not a multiple of ", alignment));
    }
    if (offset < covered)
      return cursor.Fault(absl::StrCat(part, ": overlaps the tensor before it at ", offset));
    if (offset > data.size() || static_cast<uint64_t>(description->bytes) > data.size() - offset) {
      return cursor.Fault(absl::StrCat("truncated: ", part, " has ", description->bytes,
                                       " bytes at ", offset, " of the data, which has ",
                                       data.size()));
    }
    covered = offset + static_cast<uint64_t>(description->bytes);
    description->view.data = data.subspan(offset, description->bytes);
  }
  return absl::OkStatus();
}

absl::Status ReadHeader(GgufCursor& cursor, absl::Span<const uint8_t> file,
                        GgufContents& contents) {
  if (!IsGguf(file)) return cursor.Fault("does not begin with \"GGUF\"");
  PHYLLO_RETURN_IF_ERROR(cursor.Bytes(kMagic.size(), "the magic number").status());
  PHYLLO_ASSIGN_OR_RETURN(contents.version, cursor.Number<uint32_t>("the version"));
  if (contents.version == 0x02000000 || contents.version == 0x03000000)
    return cursor.Fault("is big-endian; only little-endian files are read");
  if (contents.version != 2 && contents.version != 3)
    return cursor.Fault(absl::StrCat("version ", contents.version, " is not 2 or 3"));
  return absl::OkStatus();
}

}  // namespace

absl::string_view GgufTypeName(GgufType type) {
  static constexpr absl::string_view kNames[] = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                 "int32",  "float32", "bool",   "string", "array",
                                                 "uint64", "int64",   "float64"};
  return kNames[static_cast<uint32_t>(type)];
}

const GgufValue* GgufContents::Find(absl::string_view key) const {
  const auto it = metadata.find(key);
  return it == metadata.end() ? nullptr : &it->second;
}

bool IsGguf(absl::Span<const uint8_t> file) {
  return file.size() >= kMagic.size() &&
         std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

absl::StatusOr<GgufContents> ParseGguf(absl::Span<const uint8_t> file, absl::string_view what) {
  GgufContents contents;
  GgufCursor cursor(file, what);
  PHYLLO_RETURN_IF_ERROR(ReadHeader(cursor, file, contents));
  // The smallest description and the smallest pair, in bytes.
  PHYLLO_ASSIGN_OR_RETURN(const int64_t tensor_count, cursor.Count("the number of tensors", 24));
  PHYLLO_ASSIGN_OR_RETURN(const int64_t key_count, cursor.Count("the number of keys", 13));
  for (int64_t i = 0; i < key_count; ++i) {
    PHYLLO_ASSIGN_OR_RETURN(const absl::string_view key, cursor.String("a key"));
    PHYLLO_ASSIGN_OR_RETURN(GgufValue value, ReadValue(cursor, key));
    if (!contents.metadata.emplace(key, std::move(value)).second)
      return cursor.Fault(absl::StrCat("key \"", Shown(key), "\" is there twice"));
  }
  std::vector<Description> descriptions;
  std::set<absl::string_view> names;
  descriptions.reserve(tensor_count);
  for (int64_t i = 0; i < tensor_count; ++i) {
    PHYLLO_ASSIGN_OR_RETURN(Description description, ReadDescription(cursor, what));
    descriptions.push_back(std::move(description));
    if (!names.insert(descriptions.back().view.name).second) {
      return cursor.Fault(
          absl::StrCat("tensor \"", Shown(descriptions.back().view.name), "\" is there twice"));
    }
  }
  contents.head_bytes = cursor.offset();
  PHYLLO_ASSIGN_OR_RETURN(const int64_t alignment, Alignment(contents, cursor));
  const int64_t padding = (alignment - contents.head_bytes % alignment) % alignment;
  const auto data = file.subspan(contents.head_bytes + std::min(padding, cursor.left()));
  PHYLLO_RETURN_IF_ERROR(PlaceTensors(data, alignment, cursor, descriptions));
  contents.tensors.reserve(descriptions.size());
  for (Description& description : descriptions)
    contents.tensors.push_back(std::move(description.view));
  return contents;
}

}  // namespace phyllo
