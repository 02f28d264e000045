#ifndef PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
#define PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "model/onednn/linear_kernels.h"
#include "model/tensor/linear_input.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace phyllo {

// oneDNN brgemm micro-kernels for one (in_features, precision): the m-th computes, without adding to what was there,
//   tile [m, kLinearPanel] = x [m, k] · panel [k, kLinearPanel],   k = padded_in_features, m = 1 .. kLinearRowBlock,
// in f32, each element as one sum over k in ascending order whatever m is. Private to model/onednn. Immutable, thread-safe.
//
// A panel is kLinearPanel output features wide: f32 [k, kLinearPanel]; bf16 [k / 2, kLinearPanel, 2] (pairs of k side by side).
class LinearKernelSet {
 public:
  // Errors as LinearKernels::Get.
  static absl::StatusOr<std::shared_ptr<const LinearKernelSet>> Create(int64_t in_features, Precision precision);

  LinearKernelSet(const LinearKernelSet&) = delete;
  LinearKernelSet& operator=(const LinearKernelSet&) = delete;

  int64_t padded_in_features() const { return padded_in_features_; }
  int64_t panel_bytes() const { return padded_in_features_ * kLinearPanel * BytesPerElement(precision_); }

  // Prepares this thread's tile registers (AMX) for the m-th kernel; nothing on other instruction sets. Every Run is preceded by the Enter of its
  // m, with no Enter of another in between; Leave releases the registers.
  void Enter(int64_t m) const;
  static void Leave();

  // x: m rows of LinearInputStride(in_features) elements; panel and tile 64-byte aligned; scratchpad of LinearScratch::kScratchpadBytes.
  void Run(int64_t m, const void* x, const void* panel, float* tile, void* scratchpad) const;

 private:
  struct Destroy {
    void operator()(dnnl_brgemm* kernel) const { dnnl_brgemm_destroy(kernel); }
  };
  using Kernel = std::unique_ptr<dnnl_brgemm, Destroy>;

  LinearKernelSet(int64_t padded_in_features, Precision precision)
      : padded_in_features_(padded_in_features), precision_(precision) {}

  static absl::StatusOr<Kernel> CreateKernel(int64_t m, int64_t padded_in_features, int64_t input_stride, Precision precision);

  const int64_t padded_in_features_;
  const Precision precision_;
  std::array<Kernel, kLinearRowBlock> kernels_;  // kernels_[m - 1]
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_LINEAR_KERNEL_SET_H_
