// oneDNN is used through its C interface, which reports failures as status codes. Its entry points
// can still throw std::bad_alloc; that ends in the exception barrier of LinearKernels::Get.
#include "model/onednn/linear_kernel_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/onednn/bf16_kernel.h"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {
namespace {

constexpr int64_t kInputGranule = 32;  // what a row of an AMX tile holds of bf16
// A quarter of the smallest second-level cache there is among CPUs with AVX-512. 896 x 64 of
// Qwen2.5-0.5B in f32 stay in one chunk.
constexpr int64_t kChunkBytes = int64_t{256} << 10;

int64_t RoundUp(int64_t value, int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

static_assert(Bf16Product::kPanel == kLinearPanel && Bf16Product::kMaxM == kLinearRowBlock &&
              kBf16ScratchBytes <= LinearScratch::kScratchpadBytes);

// Whether this CPU multiplies bf16 (AVX512_BF16 or AMX): oneDNN has kernels for no other.
bool OnednnHasBf16() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

const char* PrecisionName(Precision precision) {
  return precision == Precision::kF32 ? "f32" : "bf16";
}

absl::Status KernelError(dnnl_status_t status, const char* step, int64_t m, int64_t k,
                         Precision precision) {
  const std::string what =
      absl::StrCat("oneDNN: ", step, " failed with status ", static_cast<int>(status), " for a ",
                   PrecisionName(precision), " kernel of ", m, " rows and ", k,
                   " input features on ", IsaName());
  return status == dnnl_unimplemented ? absl::FailedPreconditionError(what)
                                      : absl::InternalError(what);
}

}  // namespace

LinearKernelSet::LinearKernelSet(int64_t in_features, Precision precision)
    : padded_in_features_(RoundUp(in_features, kInputGranule)),
      input_stride_(LinearInputStride(in_features, precision)),
      precision_(precision) {}

absl::StatusOr<std::shared_ptr<const LinearKernelSet>> LinearKernelSet::Create(
    int64_t in_features, Precision precision) {
  std::shared_ptr<LinearKernelSet> set(new LinearKernelSet(in_features, precision));
  if (precision == Precision::kBf16 && !OnednnHasBf16()) {
    PHYLLO_RETURN_IF_ERROR(set->AddChunks(Bf16Product::kMaxK, /*use_onednn=*/false));
  } else {
    const int64_t max_chunk = kChunkBytes / (kLinearPanel * BytesPerElement(precision));
    PHYLLO_RETURN_IF_ERROR(set->AddChunks(max_chunk, /*use_onednn=*/true));
  }
  return set;
}

absl::Status LinearKernelSet::AddChunks(int64_t max_chunk, bool use_onednn) {
  const int64_t num_chunks = (padded_in_features_ + max_chunk - 1) / max_chunk;
  const int64_t chunk = RoundUp((padded_in_features_ + num_chunks - 1) / num_chunks, kInputGranule);
  for (int64_t begin = 0; begin < padded_in_features_; begin += chunk) {
    const int64_t size = std::min(chunk, padded_in_features_ - begin);
    if (use_onednn)
      PHYLLO_RETURN_IF_ERROR(AddChunk(begin, size));
    else
      chunks_.push_back({.begin = begin, .size = size, .kernels = {}});
  }
  return absl::OkStatus();
}

absl::Status LinearKernelSet::AddChunk(int64_t begin, int64_t size) {
  Chunk chunk{.begin = begin, .size = size, .kernels = {}};
  // Of equal chunks the second is the first that adds to the tile.
  if (chunks_.size() >= 2 && size == chunks_.back().size) {
    chunk.kernels = chunks_.back().kernels;
  } else {
    for (int64_t m = 1; m <= kLinearRowBlock; ++m) {
      PHYLLO_ASSIGN_OR_RETURN(Kernel kernel, CreateKernel(m, size, /*add=*/!chunks_.empty()));
      chunk.kernels[static_cast<size_t>(m - 1)] = kernel.get();
      owned_.push_back(std::move(kernel));
    }
  }
  chunks_.push_back(chunk);
  return absl::OkStatus();
}

absl::StatusOr<LinearKernelSet::Kernel> LinearKernelSet::CreateKernel(int64_t m, int64_t chunk_size,
                                                                      bool add) const {
  const dnnl_data_type_t type = precision_ == Precision::kF32 ? dnnl_f32 : dnnl_bf16;
  const auto error = [&](dnnl_status_t status, const char* step) {
    return KernelError(status, step, m, chunk_size, precision_);
  };
  dnnl_brgemm* raw = nullptr;
  dnnl_status_t status =
      dnnl_brgemm_create(&raw, m, kLinearPanel, chunk_size, /*batch_size=*/1, input_stride_,
                         kLinearPanel, kLinearPanel, type, type, dnnl_f32);
  Kernel kernel(raw);
  if (status != dnnl_success) return error(status, "create");
  status = dnnl_brgemm_set_add_C(kernel.get(), add ? 1 : 0);
  if (status != dnnl_success) return error(status, "set_add_C");
  status = dnnl_brgemm_finalize(kernel.get());
  if (status != dnnl_success) return error(status, "finalize");

  dnnl_pack_type_t pack_type = dnnl_pack_type_undef;
  status = dnnl_brgemm_get_B_pack_type(kernel.get(), &pack_type);
  if (status != dnnl_success) return error(status, "get_B_pack_type");
  if (pack_type !=
      (precision_ == Precision::kF32 ? dnnl_pack_type_no_trans : dnnl_pack_type_pack32)) {
    return absl::FailedPreconditionError(
        absl::StrCat("oneDNN wants weights in layout ", static_cast<int>(pack_type), " for ",
                     PrecisionName(precision_), " on ", IsaName()));
  }
  size_t scratchpad_bytes = 0;
  status = dnnl_brgemm_get_scratchpad_size(kernel.get(), &scratchpad_bytes);
  if (status != dnnl_success) return error(status, "get_scratchpad_size");
  if (scratchpad_bytes > static_cast<size_t>(LinearScratch::kScratchpadBytes)) {
    return absl::InternalError(absl::StrCat("a oneDNN kernel wants ", scratchpad_bytes,
                                            " bytes of scratchpad, there are ",
                                            LinearScratch::kScratchpadBytes));
  }
  status = dnnl_brgemm_generate(kernel.get());
  if (status != dnnl_success) return error(status, "generate");
  return kernel;
}

void LinearKernelSet::Enter(int64_t chunk, int64_t m) const {
  const dnnl_brgemm* const kernel =
      chunks_[static_cast<size_t>(chunk)].kernels[static_cast<size_t>(m - 1)];
  if (kernel != nullptr) (void)dnnl_brgemm_set_hw_context(kernel);
}

void LinearKernelSet::Leave() { (void)dnnl_brgemm_release_hw_context(); }

void LinearKernelSet::Run(int64_t chunk, int64_t m, const void* x, const std::byte* panel,
                          float* tile, void* scratchpad) const {
  const Chunk& part = chunks_[static_cast<size_t>(chunk)];
  const dnnl_brgemm* const kernel = part.kernels[static_cast<size_t>(m - 1)];
  if (kernel == nullptr) {
    MultiplyBf16({.m = m,
                  .k = part.size,
                  .x = static_cast<const uint16_t*>(x) + part.begin,
                  .x_stride = input_stride_,
                  .panel = reinterpret_cast<const uint16_t*>(panel) + part.begin * kLinearPanel,
                  .tile = tile,
                  .add = chunk > 0},
                 scratchpad);
    return;
  }
  const dnnl_dim_t offsets[2] = {part.begin * BytesPerElement(precision_),
                                 part.begin * kLinearPanel * BytesPerElement(precision_)};
  // Cannot fail: its one error is a null kernel.
  (void)dnnl_brgemm_execute(kernel, x, panel, offsets, tile, scratchpad);
}

}  // namespace phyllo
