// Which layers share page tables: those that see the same window, because they stop reading a page
// at the same time.
//   PHYLLO_ASSIGN_OR_RETURN(const KvLayerGroups groups, KvLayerGroups::Create(layer_windows));
#ifndef PHYLLO_MODEL_KV_CACHE_LAYER_GROUPS_H_
#define PHYLLO_MODEL_KV_CACHE_LAYER_GROUPS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace phyllo {

// Groups of the layers of a model, in the order in which they first occur. A plain value.
struct KvLayerGroups {
  static constexpr int64_t kMaxGroups = 4;

  // `layer_windows` [layers], at least one: a query of the layer sees itself and the window - 1
  // keys before it; absent = all of them. UNIMPLEMENTED, naming the counts, for more than
  // kMaxGroups different windows; INVALID_ARGUMENT for a window below 1.
  static absl::StatusOr<KvLayerGroups> Create(
      absl::Span<const std::optional<int64_t>> layer_windows);

  int64_t group_count() const { return static_cast<int64_t>(windows.size()); }
  // Number of layers of a group.
  int64_t LayerCount(int64_t group) const {
    return std::count(group_of_layer.begin(), group_of_layer.end(), group);
  }

  std::vector<std::optional<int64_t>> windows;  // [groups]
  std::vector<int64_t> group_of_layer;          // [layers]
};

// The first page that a query at `position` or behind it still reads.
inline int64_t FirstVisiblePage(std::optional<int64_t> window, int64_t position,
                                int64_t page_size) {
  return window.has_value() ? std::max<int64_t>(0, position - *window + 1) / page_size : 0;
}

// Pages that a sequence of token_count tokens holds at most at one time, if it is computed at most
// `rows` tokens at a time and gives back before each what no query reads any more.
inline int64_t MostHeldPages(std::optional<int64_t> window, int64_t token_count, int64_t rows,
                             int64_t page_size) {
  const int64_t all = (token_count + page_size - 1) / page_size;
  if (!window.has_value()) return all;
  // window + rows - 1 positions that begin anywhere in a page.
  return std::min(all, (*window + rows - 2 + page_size - 1) / page_size + 1);
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_KV_CACHE_LAYER_GROUPS_H_
