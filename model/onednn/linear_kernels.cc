#include "model/onednn/linear_kernels.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/exception_barrier.h"
#include "model/base/max_isa.h"
#include "model/base/status_macros.h"
#include "model/onednn/effective_isa.h"
#include "model/onednn/linear_kernel_set.h"
#include "oneapi/dnnl/dnnl_types.h"

namespace phyllo {

std::string IsaName() {
  const dnnl_cpu_isa_t isa = EffectiveIsa();
  switch (isa) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    case dnnl_cpu_isa_avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
    default:
      return absl::StrCat("isa_0x", absl::Hex(static_cast<int>(isa)));
  }
}

LinearKernels::LinearKernels() = default;
LinearKernels::~LinearKernels() = default;

absl::StatusOr<std::shared_ptr<const LinearKernelSet>> LinearKernels::Get(int64_t in_features,
                                                                          Precision precision) {
  PHYLLO_RETURN_IF_ERROR(MaxIsaOfEnvironment().status());
  const bool integers = InputPrecision(precision) == Precision::kInt8;
  const int64_t max_in_features = integers ? kMaxInt8InFeatures : int64_t{1} << 24;
  if (in_features < 1 || in_features > max_in_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("in_features is ", in_features, ", must be 1 to ", max_in_features,
                     integers ? ", or sums of bytes do not fit into 32 bits" : ""));
  }
  const auto key = std::make_pair(in_features, precision);
  if (const auto found = sets_.find(key); found != sets_.end()) return found->second;
  std::shared_ptr<const LinearKernelSet> set;
  PHYLLO_RETURN_IF_ERROR(CatchExceptions("oneDNN kernel creation", [&]() -> absl::Status {
    PHYLLO_ASSIGN_OR_RETURN(set, LinearKernelSet::Create(in_features, precision));
    return absl::OkStatus();
  }));
  sets_.emplace(key, set);
  return set;
}

namespace {

constexpr int64_t kTilesBytes = 2 * LinearScratch::kTileBytes;
constexpr int64_t kBytesPerWorker =
    kTilesBytes + LinearScratch::kScratchpadBytes + LinearScratch::kUnpackedBytes;

}  // namespace

absl::StatusOr<LinearScratch> LinearScratch::Create(int num_workers, HugePageArena& arena) {
  if (num_workers < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("num_workers is ", num_workers, ", must be at least 1"));
  PHYLLO_ASSIGN_OR_RETURN(std::byte * memory, arena.Allocate(num_workers * kBytesPerWorker));
  return LinearScratch(num_workers, memory);
}

std::byte* LinearScratch::Tile(int worker) const { return memory_ + worker * kBytesPerWorker; }

void* LinearScratch::Scratchpad(int worker) const {
  return memory_ + worker * kBytesPerWorker + kTilesBytes;
}

std::byte* LinearScratch::Unpacked(int worker) const {
  return memory_ + worker * kBytesPerWorker + kTilesBytes + kScratchpadBytes;
}

}  // namespace phyllo
