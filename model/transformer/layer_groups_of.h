// The groups of layers that the KV cache of a model has.
#ifndef PHYLLO_MODEL_TRANSFORMER_LAYER_GROUPS_OF_H_
#define PHYLLO_MODEL_TRANSFORMER_LAYER_GROUPS_OF_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "model/config/decoder_description.h"
#include "model/kv_cache/layer_groups.h"

namespace phyllo {

// The layers [first_layer, last_layer) of a model, grouped by the window they see: the groups of
// its KV cache. A window that no sequence outgrows counts as none. Errors of KvLayerGroups::Create.
absl::StatusOr<KvLayerGroups> LayerGroupsOf(const DecoderDescription& description,
                                            int64_t first_layer, int64_t last_layer);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_LAYER_GROUPS_OF_H_
