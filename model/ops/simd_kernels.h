#ifndef PHYLLO_MODEL_OPS_SIMD_KERNELS_H_
#define PHYLLO_MODEL_OPS_SIMD_KERNELS_H_

namespace phyllo {

// Instruction sets the kernels of model/ops are compiled for. The first two give the same bits: the
// same 16-lane accumulators, the same reduction trees, the same fused multiply-adds, only in
// narrower or wider registers. The third differs from them in attention over pages of bf16.
enum class SimdLevel {
  kX86V3,      // AVX2 + FMA, the baseline of the build
  kX86V4,      // AVX-512 F, BW, CD, DQ, VL
  kX86V4Bf16,  // and AVX-512 BF16
};

// The widest level this CPU runs and PHYLLO_MAX_ISA (model/base/max_isa.h) allows.
SimdLevel DetectSimdLevel();

struct SimdKernelTable;  // function pointers; simd_kernel_table.h, private to model/ops

// The kernels of one level: what every function of model/ops takes first. Chosen once at load and
// passed down; a value that points to constant data, so it is free to copy and thread-safe.
class SimdKernels {
 public:
  // The kernels of DetectSimdLevel().
  static SimdKernels ForThisCpu() { return SimdKernels(DetectSimdLevel()); }

  // The kernels of a given level. Requires that the CPU has it.
  explicit SimdKernels(SimdLevel level);

  SimdLevel level() const { return level_; }
  const SimdKernelTable& table() const { return *table_; }

 private:
  SimdLevel level_;
  const SimdKernelTable* table_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SIMD_KERNELS_H_
