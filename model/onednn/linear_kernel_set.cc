// oneDNN is used through its C interface, which reports failures as status codes. Its entry points can still throw std::bad_alloc; that ends in
// the exception barrier of LinearKernels::Get.
#include "model/onednn/linear_kernel_set.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {
namespace {

const char* PrecisionName(Precision precision) { return precision == Precision::kF32 ? "f32" : "bf16"; }

absl::Status KernelError(dnnl_status_t status, const char* step, int64_t m, int64_t k, Precision precision) {
  const std::string what =
      absl::StrCat("oneDNN: ", step, " failed with status ", static_cast<int>(status), " for a ", PrecisionName(precision),
                   " kernel of ", m, " rows and ", k, " input features on ", IsaName());
  return status == dnnl_unimplemented ? absl::FailedPreconditionError(what) : absl::InternalError(what);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LinearKernelSet>> LinearKernelSet::Create(int64_t in_features, Precision precision) {
  constexpr int64_t kGranule = 32;  // what an AMX tile row holds of bf16
  const int64_t padded = (in_features + kGranule - 1) / kGranule * kGranule;
  const int64_t stride = LinearInputStride(in_features, precision);
  std::shared_ptr<LinearKernelSet> set(new LinearKernelSet(padded, precision));
  for (int64_t m = 1; m <= kLinearRowBlock; ++m) {
    PHYLLO_ASSIGN_OR_RETURN(set->kernels_[static_cast<size_t>(m - 1)], CreateKernel(m, padded, stride, precision));
  }
  return set;
}

absl::StatusOr<LinearKernelSet::Kernel> LinearKernelSet::CreateKernel(int64_t m, int64_t padded_in_features, int64_t input_stride,
                                                                      Precision precision) {
  const dnnl_data_type_t type = precision == Precision::kF32 ? dnnl_f32 : dnnl_bf16;
  const auto error = [&](dnnl_status_t status, const char* step) { return KernelError(status, step, m, padded_in_features, precision); };
  dnnl_brgemm* raw = nullptr;
  dnnl_status_t status = dnnl_brgemm_create(&raw, m, kLinearPanel, padded_in_features, /*batch_size=*/1, input_stride, kLinearPanel,
                                            kLinearPanel, type, type, dnnl_f32);
  Kernel kernel(raw);
  if (status != dnnl_success) return error(status, "create");
  status = dnnl_brgemm_set_add_C(kernel.get(), 0);
  if (status != dnnl_success) return error(status, "set_add_C");
  status = dnnl_brgemm_finalize(kernel.get());
  if (status != dnnl_success) return error(status, "finalize");

  dnnl_pack_type_t pack_type = dnnl_pack_type_undef;
  status = dnnl_brgemm_get_B_pack_type(kernel.get(), &pack_type);
  if (status != dnnl_success) return error(status, "get_B_pack_type");
  if (pack_type != (precision == Precision::kF32 ? dnnl_pack_type_no_trans : dnnl_pack_type_pack32)) {
    return absl::FailedPreconditionError(
        absl::StrCat("oneDNN wants weights in layout ", static_cast<int>(pack_type), " for ", PrecisionName(precision), " on ", IsaName()));
  }
  size_t scratchpad_bytes = 0;
  status = dnnl_brgemm_get_scratchpad_size(kernel.get(), &scratchpad_bytes);
  if (status != dnnl_success) return error(status, "get_scratchpad_size");
  if (scratchpad_bytes > static_cast<size_t>(LinearScratch::kScratchpadBytes)) {
    return absl::InternalError(absl::StrCat("a oneDNN kernel wants ", scratchpad_bytes, " bytes of scratchpad, there are ",
                                            LinearScratch::kScratchpadBytes));
  }
  status = dnnl_brgemm_generate(kernel.get());
  if (status != dnnl_success) return error(status, "generate");
  return kernel;
}

void LinearKernelSet::Enter(int64_t m) const { (void)dnnl_brgemm_set_hw_context(kernels_[static_cast<size_t>(m - 1)].get()); }

void LinearKernelSet::Leave() { (void)dnnl_brgemm_release_hw_context(); }

void LinearKernelSet::Run(int64_t m, const void* x, const void* panel, float* tile, void* scratchpad) const {
  constexpr dnnl_dim_t kOffsets[2] = {0, 0};
  // Cannot fail: its one error is a null kernel.
  (void)dnnl_brgemm_execute(kernels_[static_cast<size_t>(m - 1)].get(), x, panel, kOffsets, tile, scratchpad);
}

}  // namespace phyllo
