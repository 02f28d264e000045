#include "services/gateway/requests/prompt_tensor.h"

#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/tensor/dtype.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

std::optional<DType> FloatType(common::v1::DataType type) {
  switch (type) {
    case common::v1::DATA_TYPE_F32:
      return DType::kF32;
    case common::v1::DATA_TYPE_F16:
      return DType::kF16;
    case common::v1::DATA_TYPE_BF16:
      return DType::kBf16;
    default:
      return std::nullopt;
  }
}

absl::Status CheckFinite(const common::v1::Tensor& rows, DType dtype, int64_t row_bytes) {
  std::vector<float> row(rows.shape(1));
  for (int64_t i = 0; i < rows.shape(0); ++i) {
    ConvertToFloat(dtype, rows.data().data() + i * row_bytes, absl::MakeSpan(row));
    for (size_t column = 0; column < row.size(); ++column) {
      if (std::isfinite(row[column])) continue;
      return InvalidField("hidden_states", absl::StrCat("is ", row[column], " in row ", i,
                                                        ", column ", column, "; must be finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPromptRows(const common::v1::Tensor& rows, int64_t hidden_size) {
  const std::optional<DType> dtype = FloatType(rows.data_type());
  if (!dtype)
    return InvalidField("hidden_states", absl::StrCat("has data_type ", rows.data_type(),
                                                      "; must be F32, F16 or BF16"));
  if (rows.shape_size() != 2 || rows.shape(0) < 1 || rows.shape(1) != hidden_size) {
    return InvalidField("hidden_states", absl::StrCat("has another shape than [n, ", hidden_size,
                                                      "], n at least 1"));
  }
  const auto byte_count = static_cast<int64_t>(rows.data().size());
  const int64_t row_bytes = hidden_size * ByteSize(*dtype);
  // Compared by division: a product of wire values might overflow.
  if (byte_count % row_bytes != 0 || byte_count / row_bytes != rows.shape(0)) {
    return InvalidField("hidden_states", absl::StrCat("has ", byte_count,
                                                      " bytes, which is not what its shape says"));
  }
  return CheckFinite(rows, *dtype, row_bytes);
}

common::v1::Tensor SlicePromptRows(const common::v1::Tensor& rows, int64_t first, int64_t count) {
  const int64_t row_bytes = static_cast<int64_t>(rows.data().size()) / rows.shape(0);
  common::v1::Tensor slice;
  slice.set_data_type(rows.data_type());
  slice.add_shape(count);
  slice.add_shape(rows.shape(1));
  slice.set_data(rows.data().data() + first * row_bytes, count * row_bytes);
  return slice;
}

}  // namespace phyllo
