#ifndef PHYLLO_MODEL_ONEDNN_EFFECTIVE_ISA_H_
#define PHYLLO_MODEL_ONEDNN_EFFECTIVE_ISA_H_

#include "oneapi/dnnl/dnnl_types.h"

namespace phyllo {

// The instruction set of oneDNN's kernels and ours: what this CPU has, at most PHYLLO_MAX_ISA
// (model/base/max_isa.h). The library has one bound a process, set before anything else asks it;
// so every question goes through here. Private to model/onednn. Thread-safe.
dnnl_cpu_isa_t EffectiveIsa();

// Whether that includes all instructions of `isa`.
inline bool MayUse(dnnl_cpu_isa_t isa) { return (EffectiveIsa() & isa) == isa; }

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_EFFECTIVE_ISA_H_
