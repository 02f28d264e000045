#include "model/ops/simd_kernels.h"

#include "model/base/max_isa.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {

SimdLevel DetectSimdLevel() {
  const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  // A name that is none fails the load of the linear layers.
  const bool allows_v4 = MaxIsaOfEnvironment().value_or(MaxIsa::kAll) >= MaxIsa::kAvx512Core;
  return has_v4 && allows_v4 ? SimdLevel::kX86V4 : SimdLevel::kX86V3;
}

SimdKernels::SimdKernels(SimdLevel level)
    : level_(level), table_(level == SimdLevel::kX86V4 ? &simd_v4::kTable : &simd_v3::kTable) {}

}  // namespace phyllo
