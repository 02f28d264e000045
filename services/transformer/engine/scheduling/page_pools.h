// The pools of KV pages of a model, one for each group of layers, as an engine sees them.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_POOLS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_POOLS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/kv_cache/sequence_pages.h"
#include "services/transformer/engine/scheduling/page_counts.h"
#include "services/transformer/engine/scheduling/scheduler.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// Tokens of a sequence that has the whole cache for itself, at most the model's max_positions.
int64_t LongestSequence(const StepModel& model);

// What the scheduler knows of the pools, [groups].
std::vector<SchedulerGroup> SchedulerGroupsOf(const StepModel& model);

PageCounts FreePageCounts(const StepModel& model);

// How full the pools are.
struct PageUsage {
  int64_t used_count = 0;   // of all groups together
  int64_t total_count = 0;  // likewise
  double ratio = 0.0;       // of the group with the smallest part free: 0 to 1
};
PageUsage UsageOf(const StepModel& model);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SCHEDULING_PAGE_POOLS_H_
