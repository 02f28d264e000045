#include "model/transformer/layer_groups_of.h"

#include <optional>
#include <vector>

namespace phyllo {

absl::StatusOr<KvLayerGroups> LayerGroupsOf(const DecoderDescription& description,
                                            int64_t first_layer, int64_t last_layer) {
  std::vector<std::optional<int64_t>> windows;
  for (int64_t i = first_layer; i < last_layer; ++i) {
    std::optional<int64_t> window = description.layers[i].attention.sliding_window;
    if (window && *window >= description.max_position_embeddings) window.reset();
    windows.push_back(window);
  }
  return KvLayerGroups::Create(windows);
}

}  // namespace phyllo
