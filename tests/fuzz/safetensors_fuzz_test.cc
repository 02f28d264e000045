// A whole safetensors file. What parses must lie inside the file.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/tensor_view.h"
#include "model/tensor/dtype.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::Span<const uint8_t> file(data, size);
  const absl::StatusOr<std::vector<phyllo::TensorView>> views =
      phyllo::ParseSafetensors(file, "fuzz");
  if (!views.ok()) return 0;
  for (const phyllo::TensorView& view : *views) {
    const int64_t bytes = view.num_elements() * phyllo::ByteSize(view.dtype);
    PHYLLO_CHECK(bytes == static_cast<int64_t>(view.data.size()));
    PHYLLO_CHECK(view.data.empty() ||
                 (view.data.data() >= data && view.data.data() + bytes <= data + size));
  }
  return 0;
}
