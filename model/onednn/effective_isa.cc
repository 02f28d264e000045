#include "model/onednn/effective_isa.h"

#include "model/base/max_isa.h"
#include "oneapi/dnnl/dnnl.h"

namespace phyllo {
namespace {

dnnl_cpu_isa_t OnednnName(MaxIsa isa) {
  switch (isa) {
    case MaxIsa::kAvx2:
      return dnnl_cpu_isa_avx2;
    case MaxIsa::kAvx2Vnni:
      return dnnl_cpu_isa_avx2_vnni;
    case MaxIsa::kAvx512Core:
      return dnnl_cpu_isa_avx512_core;
    case MaxIsa::kAvx512CoreVnni:
      return dnnl_cpu_isa_avx512_core_vnni;
    case MaxIsa::kAvx512CoreBf16:
      return dnnl_cpu_isa_avx512_core_bf16;
    case MaxIsa::kAvx512CoreAmx:
      return dnnl_cpu_isa_avx512_core_amx;
    case MaxIsa::kAll:
      break;
  }
  return dnnl_cpu_isa_default;
}

}  // namespace

dnnl_cpu_isa_t EffectiveIsa() {
  static const dnnl_cpu_isa_t isa = [] {
    // A name that is none fails LinearKernels::Get.
    const MaxIsa max_isa = MaxIsaOfEnvironment().value_or(MaxIsa::kAll);
    // Fails only when the bound was asked for before, which nothing but this function does.
    if (max_isa != MaxIsa::kAll) (void)dnnl_set_max_cpu_isa(OnednnName(max_isa));
    return dnnl_get_effective_cpu_isa();
  }();
  return isa;
}

}  // namespace phyllo
