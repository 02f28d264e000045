#include "services/transformer/engine/scheduling/page_pools.h"

#include <algorithm>

#include "model/kv_cache/layer_groups.h"
#include "model/kv_cache/page_allocator.h"

namespace phyllo {

int64_t LongestSequence(const StepModel& model) {
  const StepModelSizes& sizes = model.sizes();
  int64_t tokens = sizes.max_positions;
  for (const KvPageGroup& group : model.page_groups()) {
    const int64_t page_count = group.allocator->page_count();
    // A sequence that is computed row by row holds no more than these.
    if (page_count >= MostHeldPages(group.window, sizes.max_positions, 1, sizes.page_size))
      continue;
    tokens = std::min(tokens, page_count * sizes.page_size);
  }
  return tokens;
}

std::vector<SchedulerGroup> SchedulerGroupsOf(const StepModel& model) {
  std::vector<SchedulerGroup> groups;
  for (const KvPageGroup& group : model.page_groups())
    groups.push_back({group.window, group.allocator->page_count()});
  return groups;
}

PageCounts FreePageCounts(const StepModel& model) {
  PageCounts counts = {};
  const absl::Span<const KvPageGroup> groups = model.page_groups();
  for (size_t group = 0; group < groups.size(); ++group)
    counts[group] = groups[group].allocator->free_count();
  return counts;
}

PageUsage UsageOf(const StepModel& model) {
  PageUsage usage;
  for (const KvPageGroup& group : model.page_groups()) {
    const int64_t total = group.allocator->page_count();
    const int64_t used = total - group.allocator->free_count();
    usage.used_count += used;
    usage.total_count += total;
    usage.ratio = std::max(usage.ratio, static_cast<double>(used) / static_cast<double>(total));
  }
  return usage;
}

}  // namespace phyllo
