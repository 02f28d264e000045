// A whole GGUF file. What parses must lie inside the file, every block must dequantise, and the
// translations of the metadata must end in a text or an error.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/gguf.h"
#include "model/checkpoint/tensor_view.h"
#include "model/gguf/gguf_config.h"
#include "model/gguf/gguf_tokenizer.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

void CheckTensor(const TensorView& view, absl::Span<const uint8_t> file) {
  const int64_t bytes = RunBytes(view.dtype, view.num_elements());
  PHYLLO_CHECK(bytes == static_cast<int64_t>(view.data.size()));
  PHYLLO_CHECK(view.data.empty() || (view.data.data() >= file.data() &&
                                     view.data.data() + bytes <= file.data() + file.size()));
  if (!IsWeightDType(view.dtype)) return;
  std::vector<float> values(view.num_elements());
  ConvertToFloat(view.dtype, view.data.data(), absl::MakeSpan(values));
}

// The same bytes as a file, since a checkpoint is opened by path.
void CheckTranslations(absl::Span<const uint8_t> file) {
  const int descriptor = memfd_create("gguf", MFD_CLOEXEC);
  PHYLLO_CHECK(descriptor >= 0);
  PHYLLO_CHECK(write(descriptor, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  const absl::StatusOr<std::unique_ptr<Checkpoint>> checkpoint =
      Checkpoint::Open(absl::StrCat("/proc/self/fd/", descriptor));
  if (checkpoint.ok()) {
    GgufConfigJson(**checkpoint).IgnoreError();
    GgufGenerationConfigJson(**checkpoint).IgnoreError();
  }
  close(descriptor);
}

}  // namespace
}  // namespace phyllo

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::Span<const uint8_t> file(data, size);
  const absl::StatusOr<phyllo::GgufContents> contents = phyllo::ParseGguf(file, "fuzz");
  if (!contents.ok()) return 0;
  for (const phyllo::TensorView& view : contents->tensors) phyllo::CheckTensor(view, file);
  phyllo::GgufTokenizerJson(*contents).IgnoreError();
  phyllo::GgufTokenizerConfigJson(*contents).IgnoreError();
  phyllo::CheckTranslations(file);
  return 0;
}
