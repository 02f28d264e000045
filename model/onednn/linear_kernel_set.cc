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
#include "model/base/rounding.h"
#include "model/base/status_macros.h"
#include "model/onednn/bf16_kernel.h"
#include "model/onednn/effective_isa.h"
#include "model/onednn/integer/int4_kernel.h"
#include "model/onednn/panel_kernel/panel_kernel.h"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {
namespace {

// A quarter of the smallest second-level cache there is among CPUs with AVX-512. 896 x 64 of
// Qwen2.5-0.5B in f32 stay in one chunk.
constexpr int64_t kChunkBytes = int64_t{256} << 10;

// A PanelKernel reads a chunk once for every few rows: from the first-level cache, of which this is
// more than half.
constexpr int64_t kPanelKernelChunkBytes = int64_t{32} << 10;

static_assert(Bf16Product::kPanel == kLinearPanel && Bf16Product::kMaxM == kLinearRowBlock &&
              kBf16ScratchBytes <= LinearScratch::kScratchpadBytes);
static_assert(PanelProduct::kPanel == kLinearPanel && PanelProduct::kMaxM == kLinearTaskRows &&
              kPanelKernelChunkBytes <= LinearScratch::kUnpackedBytes);

// What oneDNN calls the operands and the sum of a product.
struct ProductTypes {
  dnnl_data_type_t x, weights, sum;
  dnnl_pack_type_t pack_type;
  const char* name;
};

ProductTypes TypesOf(Precision input) {
  switch (input) {
    case Precision::kF32:
      return {dnnl_f32, dnnl_f32, dnnl_f32, dnnl_pack_type_no_trans, "f32"};
    case Precision::kBf16:
      return {dnnl_bf16, dnnl_bf16, dnnl_f32, dnnl_pack_type_pack32, "bf16"};
    default:
      return {dnnl_u8, dnnl_s8, dnnl_s32, dnnl_pack_type_pack32, "int8"};
  }
}

bool HasTiles() { return MayUse(dnnl_cpu_isa_avx512_core_amx); }

// Our PanelKernel for inputs of a precision; null where there is none, and where the CPU has tiles
// (AMX), whose kernels are oneDNN's.
struct PanelKernelChoice {
  PanelKernel kernel = nullptr;
  const char* isa = nullptr;
};

PanelKernelChoice ChoosePanelKernel(Precision input) {
  if (HasTiles()) return {};
  if (input == Precision::kBf16) {
    if (!MayUse(dnnl_cpu_isa_avx512_core_bf16)) return {};
    return {MultiplyBf16Avx512, "avx512_core_bf16"};
  }
  if (input != Precision::kInt8) return {};
  if (MayUse(dnnl_cpu_isa_avx512_core_vnni)) return {MultiplyInt8Avx512Vnni, "avx512_core_vnni"};
  if (MayUse(dnnl_cpu_isa_avx2_vnni)) return {MultiplyInt8AvxVnni, "avx2_vnni"};
  return {MultiplyInt8Avx2, "avx2"};
}

// How many rows of int4 are multiplied without unpacking.
int64_t MaxFewRows() { return MayUse(dnnl_cpu_isa_avx512_core_vnni) ? Int4Product::kMaxM : 0; }

absl::Status KernelError(dnnl_status_t status, const char* step, int64_t m, int64_t k,
                         Precision precision) {
  const std::string what = absl::StrCat(
      "oneDNN: ", step, " failed with status ", static_cast<int>(status), " for a ",
      TypesOf(precision).name, " kernel of ", m, " rows and ", k, " input features on ", IsaName());
  return status == dnnl_unimplemented ? absl::FailedPreconditionError(what)
                                      : absl::InternalError(what);
}

}  // namespace

std::string ImplementationName(Precision precision) {
  const auto onednn = [](const char* types) {
    return absl::StrCat("onednn ", IsaName(), " ", types);
  };
  const char* const isa = ChoosePanelKernel(InputPrecision(precision)).isa;
  switch (precision) {
    case Precision::kF32:
      return onednn("f32");
    case Precision::kBf16:
      if (HasTiles()) return onednn("bf16");
      return absl::StrCat("phyllo ", isa == nullptr ? "avx2" : isa, " bf16");
    default:
      break;
  }
  const std::string bytes = isa == nullptr ? onednn("u8s8") : absl::StrCat("phyllo ", isa, " u8s8");
  if (precision == Precision::kInt8) return bytes;
  const char* const few = MaxFewRows() > 0 ? "phyllo avx512_core_vnni u8s4, " : "";
  return absl::StrCat(few, bytes, " of unpacked s4");
}

LinearKernelSet::LinearKernelSet(int64_t in_features, Precision precision)
    : layout_(in_features, precision),
      input_stride_(LinearInputStride(in_features, InputPrecision(precision))),
      input_(InputPrecision(precision)) {}

absl::StatusOr<std::shared_ptr<const LinearKernelSet>> LinearKernelSet::Create(
    int64_t in_features, Precision precision) {
  std::shared_ptr<LinearKernelSet> set(new LinearKernelSet(in_features, precision));
  if (precision == Precision::kInt4) {
    set->int4_unpacker_ = MayUse(dnnl_cpu_isa_avx512_core) ? UnpackInt4Avx512 : UnpackInt4Avx2;
    set->max_few_rows_ = MaxFewRows();
  }
  // What a kernel reads is chunk * kLinearPanel elements of the input's size.
  const int64_t row_bytes = kLinearPanel * BytesPerElement(set->input_);
  if (const PanelKernel kernel = ChoosePanelKernel(set->input_).kernel; kernel != nullptr) {
    set->panel_kernel_ = kernel;
    set->max_rows_ = kLinearTaskRows;
    PHYLLO_RETURN_IF_ERROR(
        set->AddChunks(kPanelKernelChunkBytes / row_bytes, /*use_onednn=*/false));
  } else if (set->input_ == Precision::kBf16 && !HasTiles()) {
    PHYLLO_RETURN_IF_ERROR(set->AddChunks(Bf16Product::kMaxK, /*use_onednn=*/false));
  } else {
    const int64_t max_chunk_bytes =
        precision == Precision::kInt4 ? LinearScratch::kUnpackedBytes : kChunkBytes;
    PHYLLO_RETURN_IF_ERROR(set->AddChunks(max_chunk_bytes / row_bytes, /*use_onednn=*/true));
  }
  return set;
}

absl::Status LinearKernelSet::AddChunks(int64_t max_chunk, bool use_onednn) {
  const int64_t k = layout_.padded_in_features();
  const int64_t num_chunks = CeilDiv(k, max_chunk);
  const int64_t chunk = RoundUp(CeilDiv(k, num_chunks), PanelLayout::KGranule(layout_.precision()));
  for (int64_t begin = 0; begin < k; begin += chunk) {
    const int64_t size = std::min(chunk, k - begin);
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
  const ProductTypes types = TypesOf(input_);
  const auto error = [&](dnnl_status_t status, const char* step) {
    return KernelError(status, step, m, chunk_size, input_);
  };
  // The micro-kernel interface has no reference implementation to fall back to: what the CPU has no
  // kernel for fails here, at load.
  dnnl_brgemm* raw = nullptr;
  dnnl_status_t status =
      dnnl_brgemm_create(&raw, m, kLinearPanel, chunk_size, /*batch_size=*/1, input_stride_,
                         kLinearPanel, kLinearPanel, types.x, types.weights, types.sum);
  Kernel kernel(raw);
  if (status != dnnl_success) return error(status, "create");
  status = dnnl_brgemm_set_add_C(kernel.get(), add ? 1 : 0);
  if (status != dnnl_success) return error(status, "set_add_C");
  status = dnnl_brgemm_finalize(kernel.get());
  if (status != dnnl_success) return error(status, "finalize");

  dnnl_pack_type_t pack_type = dnnl_pack_type_undef;
  status = dnnl_brgemm_get_B_pack_type(kernel.get(), &pack_type);
  if (status != dnnl_success) return error(status, "get_B_pack_type");
  if (pack_type != types.pack_type) {
    return absl::FailedPreconditionError(absl::StrCat("oneDNN wants weights in layout ",
                                                      static_cast<int>(pack_type), " for ",
                                                      types.name, " on ", IsaName()));
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
  if (owned_.empty()) return;
  (void)dnnl_brgemm_set_hw_context(
      chunks_[static_cast<size_t>(chunk)].kernels[static_cast<size_t>(m - 1)]);
}

void LinearKernelSet::Leave() { (void)dnnl_brgemm_release_hw_context(); }

LinearKernelSet::Weights LinearKernelSet::ReadChunk(int64_t chunk, const std::byte* panel,
                                                    std::byte* unpacked) const {
  const Chunk& part = chunks_[static_cast<size_t>(chunk)];
  const std::byte* const weights = panel + layout_.WeightBytes(part.begin);
  if (int4_unpacker_ == nullptr) return {.data = weights};
  int4_unpacker_(reinterpret_cast<const uint8_t*>(weights), part.size,
                 reinterpret_cast<int8_t*>(unpacked));
  const bool is_last = chunk + 1 == num_chunks();
  const Chunk& next = chunks_[is_last ? 0 : static_cast<size_t>(chunk) + 1];
  return {.data = unpacked,
          .next = panel + (is_last ? layout_.panel_bytes() : layout_.WeightBytes(next.begin)),
          .next_bytes = layout_.WeightBytes(next.size)};
}

void LinearKernelSet::RunFew(int64_t m, const void* x, const std::byte* panel,
                             std::byte* tile) const {
  MultiplyInt4Avx512Vnni({.m = m,
                          .k = layout_.padded_in_features(),
                          .x = static_cast<const uint8_t*>(x),
                          .x_stride = input_stride_,
                          .panel = reinterpret_cast<const uint8_t*>(panel),
                          .tile = reinterpret_cast<int32_t*>(tile)});
}

void LinearKernelSet::Run(int64_t chunk, int64_t m, const void* x, const Weights& weights,
                          std::byte* tile, void* scratchpad) const {
  const Chunk& part = chunks_[static_cast<size_t>(chunk)];
  if (!owned_.empty()) {
    const dnnl_dim_t offsets[2] = {part.begin * BytesPerElement(input_), 0};
    // Cannot fail: its one error is a null kernel.
    (void)dnnl_brgemm_execute(part.kernels[static_cast<size_t>(m - 1)], x, weights.data, offsets,
                              tile, scratchpad);
  } else if (panel_kernel_ != nullptr) {
    const int64_t size = BytesPerElement(input_);
    panel_kernel_({.m = m,
                   .k = part.size * size,
                   .x = static_cast<const std::byte*>(x) + part.begin * size,
                   .x_stride = input_stride_ * size,
                   .panel = weights.data,
                   .tile = tile,
                   .add = chunk > 0,
                   .next = weights.next,
                   .next_bytes = weights.next_bytes});
  } else {
    MultiplyBf16({.m = m,
                  .k = part.size,
                  .x = static_cast<const uint16_t*>(x) + part.begin,
                  .x_stride = input_stride_,
                  .panel = reinterpret_cast<const uint16_t*>(weights.data),
                  .tile = reinterpret_cast<float*>(tile),
                  .add = chunk > 0},
                 scratchpad);
  }
}

}  // namespace phyllo
