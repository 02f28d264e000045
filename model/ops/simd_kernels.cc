#include "model/ops/simd_kernels.h"

#include "model/base/max_isa.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

namespace {

// Points to constant data.
const SimdKernelTable* TableOf(SimdLevel level) {
  static const SimdKernelTable v4_bf16 = [] {
    SimdKernelTable table = simd_v4::kTable;
    table.attend_tile[1] = simd_v4_bf16::AttendTileBf16;
    return table;
  }();
  switch (level) {
    case SimdLevel::kX86V3:
      return &simd_v3::kTable;
    case SimdLevel::kX86V4:
      return &simd_v4::kTable;
    case SimdLevel::kX86V4Bf16:
      break;
  }
  return &v4_bf16;
}

}  // namespace

SimdLevel DetectSimdLevel() {
  const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  // A name that is none fails the load of the linear layers.
  const MaxIsa max_isa = MaxIsaOfEnvironment().value_or(MaxIsa::kAll);
  if (!has_v4 || max_isa < MaxIsa::kAvx512Core) return SimdLevel::kX86V3;
  const bool has_bf16 = __builtin_cpu_supports("avx512bf16");
  return has_bf16 && max_isa >= MaxIsa::kAvx512CoreBf16 ? SimdLevel::kX86V4Bf16 : SimdLevel::kX86V4;
}

SimdKernels::SimdKernels(SimdLevel level) : level_(level), table_(TableOf(level)) {}

}  // namespace phyllo
