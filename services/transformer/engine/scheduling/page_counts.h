// Numbers of KV pages, one for each group of layers.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_COUNTS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_COUNTS_H_

#include <array>
#include <cstdint>

#include "model/kv_cache/layer_groups.h"

namespace phyllo {

// Indexed by group; 0 for groups that the model does not have.
using PageCounts = std::array<int64_t, KvLayerGroups::kMaxGroups>;

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_COUNTS_H_
