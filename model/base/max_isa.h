// The widest instruction set that kernels may use, so that the paths of lesser CPUs can be tested
// and reproduced on this one.
#ifndef PHYLLO_MODEL_BASE_MAX_ISA_H_
#define PHYLLO_MODEL_BASE_MAX_ISA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// In ascending order; the names, as oneDNN has them, are those of the enumerators in capitals:
// AVX2, AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_BF16, AVX512_CORE_AMX.
enum class MaxIsa {
  kAvx2,
  kAvx2Vnni,
  kAvx512Core,
  kAvx512CoreVnni,
  kAvx512CoreBf16,
  kAvx512CoreAmx,
  kAll,  // what the CPU has; DEFAULT, or no name at all
};

// INVALID_ARGUMENT for a name that is none.
absl::StatusOr<MaxIsa> ParseMaxIsa(absl::string_view name);

// The one that the environment variable PHYLLO_MAX_ISA names, kAll if it is not set. Read at load
// only. Errors as ParseMaxIsa.
absl::StatusOr<MaxIsa> MaxIsaOfEnvironment();

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_MAX_ISA_H_
