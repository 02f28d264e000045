#ifndef PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
#define PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/onednn/integer/int4_kernel.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/panel_kernel/panel_kernel.h"
#include "model/onednn/panel_layout.h"
#include "model/tensor/linear_input.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {

// The kernels for one (in_features, precision). The k = padded_in_features inputs are cut into
// chunks whose part of a panel fits well into a cache, by a rule that knows in_features, precision
// and the CPU only; for chunk c and m rows, m = 1 .. max_rows(), a kernel computes
//   tile [m, kLinearPanel] (+)= x [m, chunk of k] · panel [chunk of k, kLinearPanel]
// where the first chunk sets the tile and later ones add their sum to it. In f32 and bf16 each sum
// runs over its chunk in ascending order whatever m is, and the chunks follow each other in order;
// bytes are summed in int32, exactly. Private to model/onednn. Immutable, thread-safe.
//
// Kernels by precision:
//   f32   oneDNN's brgemm micro-kernels
//   bf16  oneDNN's where the CPU has AMX, else a PanelKernel (panel_kernel.h) where it has AVX-512
//         BF16, else MultiplyBf16 (bf16_kernel.h)
//   int8  oneDNN's where the CPU has AMX, else a PanelKernel
//   int4  a chunk is unpacked to bytes and multiplied like int8; few rows read a panel as it is
//         (int4_kernel.h)
class LinearKernelSet {
 public:
  // Errors as LinearKernels::Get.
  static absl::StatusOr<std::shared_ptr<const LinearKernelSet>> Create(int64_t in_features,
                                                                       Precision precision);

  LinearKernelSet(const LinearKernelSet&) = delete;
  LinearKernelSet& operator=(const LinearKernelSet&) = delete;

  int64_t num_chunks() const { return static_cast<int64_t>(chunks_.size()); }
  const PanelLayout& layout() const { return layout_; }
  // Most rows of a Run: kLinearRowBlock, or kLinearTaskRows where a chunk stays in the first-level
  // cache.
  int64_t max_rows() const { return max_rows_; }

  // Prepares this thread's tile registers (AMX) for chunk c and m rows; nothing on other
  // instruction sets. Every Run follows an Enter of its chunk and m, with no Enter of another in
  // between; Leave releases the registers.
  void Enter(int64_t chunk, int64_t m) const;
  static void Leave();

  // The weights of a chunk as Run reads them, and what Run fetches meanwhile; borrowed.
  struct Weights {
    const std::byte* data = nullptr;
    const std::byte* next = nullptr;  // null: nothing but what lies behind `data`
    int64_t next_bytes = 0;
  };

  // Those of chunk c of a panel: in int4 unpacked to bytes, into LinearScratch::kUnpackedBytes;
  // next is then the packed chunk after it, of the panel behind this one if it is the last.
  Weights ReadChunk(int64_t chunk, const std::byte* panel, std::byte* unpacked) const;

  // x: m whole rows of LinearInputStride(in_features) elements; weights: those of the chunk; tile
  // [m, kLinearPanel] of f32, for bytes of int32; both 64-byte aligned; scratchpad of
  // LinearScratch::kScratchpadBytes.
  void Run(int64_t chunk, int64_t m, const void* x, const Weights& weights, std::byte* tile,
           void* scratchpad) const;

  // Up to so many rows are better multiplied by RunFew; 0 where there is no such kernel.
  int64_t max_few_rows() const { return max_few_rows_; }

  // The same sums as by Run over all chunks, straight from a panel of int4. No Enter needed.
  void RunFew(int64_t m, const void* x, const std::byte* panel, std::byte* tile) const;

 private:
  struct Destroy {
    void operator()(dnnl_brgemm* kernel) const { dnnl_brgemm_destroy(kernel); }
  };
  using Kernel = std::unique_ptr<dnnl_brgemm, Destroy>;
  struct Chunk {
    int64_t begin;  // of k
    int64_t size;
    std::array<const dnnl_brgemm*, kLinearRowBlock> kernels;  // oneDNN's [m - 1], owned by owned_
  };

  LinearKernelSet(int64_t in_features, Precision precision);

  // Cuts k into equal chunks of at most max_chunk and appends them.
  absl::Status AddChunks(int64_t max_chunk, bool use_onednn);

  // Appends the chunk [begin, begin + size) with oneDNN's kernels: those of the chunk before it if
  // that one is alike.
  absl::Status AddChunk(int64_t begin, int64_t size);
  absl::StatusOr<Kernel> CreateKernel(int64_t m, int64_t chunk_size, bool add) const;

  const PanelLayout layout_;
  const int64_t input_stride_;  // elements
  const Precision input_;       // of x
  PanelKernel panel_kernel_ = nullptr;
  int64_t max_rows_ = kLinearRowBlock;
  Int4Unpacker int4_unpacker_ = nullptr;
  int64_t max_few_rows_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Kernel> owned_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
