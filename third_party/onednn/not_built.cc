// Stands in for the two files of oneDNN that the ukernel API refers to and never needs.

#include <cstddef>

#include "common/memory.hpp"
#include "oneapi/dnnl/dnnl.h"

// src/common/engine.cpp refers to every primitive. Only ONEDNN_VERBOSE's banner asks how many
// engines there are.
size_t dnnl_engine_get_count(dnnl_engine_kind_t kind) { return kind == dnnl_cpu ? 1 : 0; }

// src/common/memory_zero_pad.cpp, a tenth of the compile time. There are no memory objects without
// engines.
dnnl::impl::status_t dnnl_memory::zero_pad(const dnnl::impl::exec_ctx_t& /*ctx*/) const {
  return dnnl_unimplemented;
}
