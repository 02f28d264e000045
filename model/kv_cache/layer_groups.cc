#include "model/kv_cache/layer_groups.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {

absl::StatusOr<KvLayerGroups> KvLayerGroups::Create(
    absl::Span<const std::optional<int64_t>> layer_windows) {
  KvLayerGroups groups;
  for (const std::optional<int64_t>& window : layer_windows) {
    if (window.value_or(1) < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("sliding window is ", *window, ", must be at least 1"));
    }
    const auto found = std::find(groups.windows.begin(), groups.windows.end(), window);
    groups.group_of_layer.push_back(found - groups.windows.begin());
    if (found == groups.windows.end()) groups.windows.push_back(window);
  }
  if (groups.windows.empty()) return absl::InvalidArgumentError("0 layers, must be at least 1");
  if (groups.group_count() > kMaxGroups) {
    return absl::UnimplementedError(absl::StrCat("the layers have ", groups.group_count(),
                                                 " different attention windows, at most ",
                                                 kMaxGroups, " are supported"));
  }
  return groups;
}

}  // namespace phyllo
