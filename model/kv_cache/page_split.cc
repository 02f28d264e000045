#include "model/kv_cache/page_split.h"

#include <algorithm>
#include <limits>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxPages = std::numeric_limits<int32_t>::max();

// The largest value in [0, high] for which `fits`, which holds for 0 and, once false, stays so.
int64_t Largest(int64_t high, absl::FunctionRef<bool(int64_t)> fits) {
  int64_t low = 0;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (fits(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Pages of a group for one sequence of `longest` pages, and for max_sequences of `equal` pages.
int64_t PagesFor(const KvLayerGroups& groups, const KvBudget& budget, int64_t group,
                 int64_t longest, int64_t equal) {
  const auto held = [&](int64_t pages) {
    return MostHeldPages(groups.windows[group], pages * budget.page_size, budget.max_rows,
                         budget.page_size);
  };
  return std::min(kMaxPages, std::max(held(longest), budget.max_sequences * held(equal)));
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> SplitKvPages(const KvLayerGroups& groups,
                                                  const KvBudget& budget) {
  const auto fits = [&](int64_t longest, int64_t equal) {
    int64_t left = budget.layer_page_count;
    for (int64_t group = 0; group < groups.group_count() && left >= 0; ++group)
      left -= groups.LayerCount(group) * PagesFor(groups, budget, group, longest, equal);
    return left >= 0;
  };
  const int64_t most = (budget.max_sequence_length + budget.page_size - 1) / budget.page_size;
  const int64_t longest = Largest(most, [&](int64_t pages) { return fits(pages, 0); });
  if (longest == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the KV cache has room for ", budget.layer_page_count, " pages of a layer, ",
                     groups.group_of_layer.size(), " layers need one each"));
  }
  const int64_t equal = Largest(most, [&](int64_t pages) { return fits(longest, pages); });
  std::vector<int64_t> page_counts;
  int64_t left = budget.layer_page_count;
  int64_t widest = 0;
  const auto width = [&](int64_t group) { return groups.windows[group].value_or(kMaxPages); };
  for (int64_t group = 0; group < groups.group_count(); ++group) {
    page_counts.push_back(PagesFor(groups, budget, group, longest, equal));
    left -= groups.LayerCount(group) * page_counts.back();
    if (width(group) > width(widest)) widest = group;
  }
  page_counts[widest] = std::min(page_counts[widest] + left / groups.LayerCount(widest),
                                 PagesFor(groups, budget, widest, most, most));
  return page_counts;
}

}  // namespace phyllo
