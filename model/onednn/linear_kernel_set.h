#ifndef PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
#define PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/onednn/linear_kernels.h"
#include "model/tensor/linear_input.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {

// The kernels for one (in_features, precision): oneDNN's brgemm micro-kernels, and MultiplyBf16
// (bf16_kernel.h) for bf16 where this CPU has no instructions for it. The inputs are cut into
// chunks whose part of a panel fits well into a cache, by a rule that knows in_features, precision
// and the CPU only; for chunk c and m rows, m = 1 .. kLinearRowBlock, a kernel computes
//   tile [m, kLinearPanel] (+)= x [m, chunk of k] · panel [chunk of k, kLinearPanel],   k =
//   padded_in_features,
// in f32: the first chunk sets the tile, later ones add their sum to it. Each sum runs over its
// chunk in ascending order whatever m is, and the chunks follow each other in order. Private to
// model/onednn. Immutable, thread-safe.
//
// A panel is kLinearPanel output features wide: f32 [k, kLinearPanel]; bf16 [k / 2, kLinearPanel,
// 2] (pairs of k side by side).
class LinearKernelSet {
 public:
  // Errors as LinearKernels::Get.
  static absl::StatusOr<std::shared_ptr<const LinearKernelSet>> Create(int64_t in_features,
                                                                       Precision precision);

  LinearKernelSet(const LinearKernelSet&) = delete;
  LinearKernelSet& operator=(const LinearKernelSet&) = delete;

  int64_t num_chunks() const { return static_cast<int64_t>(chunks_.size()); }
  int64_t padded_in_features() const { return padded_in_features_; }
  int64_t panel_bytes() const {
    return padded_in_features_ * kLinearPanel * BytesPerElement(precision_);
  }

  // Prepares this thread's tile registers (AMX) for chunk c and m rows; nothing on other
  // instruction sets. Every Run follows an Enter of its chunk and m, with no Enter of another in
  // between; Leave releases the registers.
  void Enter(int64_t chunk, int64_t m) const;
  static void Leave();

  // x: m whole rows of LinearInputStride(in_features) elements; panel: a whole panel; tile [m,
  // kLinearPanel]; both 64-byte aligned; scratchpad of LinearScratch::kScratchpadBytes.
  void Run(int64_t chunk, int64_t m, const void* x, const std::byte* panel, float* tile,
           void* scratchpad) const;

 private:
  struct Destroy {
    void operator()(dnnl_brgemm* kernel) const { dnnl_brgemm_destroy(kernel); }
  };
  using Kernel = std::unique_ptr<dnnl_brgemm, Destroy>;
  struct Chunk {
    int64_t begin;  // of k
    int64_t size;
    std::array<const dnnl_brgemm*, kLinearRowBlock> kernels;  // [m - 1], owned by owned_; null:
                                                              // MultiplyBf16
  };

  LinearKernelSet(int64_t in_features, Precision precision);

  // Cuts k into equal chunks of at most max_chunk and appends them.
  absl::Status AddChunks(int64_t max_chunk, bool use_onednn);

  // Appends the chunk [begin, begin + size) with oneDNN's kernels: those of the chunk before it if
  // that one is alike.
  absl::Status AddChunk(int64_t begin, int64_t size);
  absl::StatusOr<Kernel> CreateKernel(int64_t m, int64_t chunk_size, bool add) const;

  const int64_t padded_in_features_;
  const int64_t input_stride_;
  const Precision precision_;
  std::vector<Chunk> chunks_;
  std::vector<Kernel> owned_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
