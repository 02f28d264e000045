// How the memory of the KV cache is divided between the groups of layers.
//   PHYLLO_ASSIGN_OR_RETURN(const std::vector<int64_t> page_counts, SplitKvPages(groups, budget));
#ifndef PHYLLO_MODEL_KV_CACHE_PAGE_SPLIT_H_
#define PHYLLO_MODEL_KV_CACHE_PAGE_SPLIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "model/kv_cache/layer_groups.h"

namespace phyllo {

struct KvBudget {
  int64_t layer_page_count = 0;     // pages of one layer that the memory has room for
  int64_t page_size = 64;           // tokens
  int64_t max_sequence_length = 0;  // tokens of one sequence, >= 1
  int64_t max_sequences = 1;        // that may run at a time, >= 1
  int64_t max_rows = 1;             // tokens of a sequence that one step computes, >= 1
};

// Pages of each group, [groups]. First there is room for one sequence, max_sequence_length long or
// as long as fits; then for max_sequences of one length, as long as fits; what is left goes to the
// group with the widest window. No group gets more than max_sequences of max_sequence_length need.
// RESOURCE_EXHAUSTED, naming the counts, when there is no room for one page in every layer.
absl::StatusOr<std::vector<int64_t>> SplitKvPages(const KvLayerGroups& groups,
                                                  const KvBudget& budget);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_PAGE_SPLIT_H_
