#ifndef PHYLLO_MODEL_ONEDNN_WEIGHT_PACKING_H_
#define PHYLLO_MODEL_ONEDNN_WEIGHT_PACKING_H_

#include <cstddef>
#include <cstdint>

#include "model/onednn/panel_layout.h"
#include "model/onednn/weight_slice.h"

namespace phyllo {

// Writes `weight` as output features row_begin, row_begin + 1, ... of the panels `panels`, in their
// precision: to bf16 rounded to nearest even, to int8 and int4 by QuantizeTo* of each output
// feature. Needs, in int8 and int4, memory for 16 output features in f32. Calls that share no panel
// may run at once. Requires that the weight fits: its in_features are those of the layout, its
// dtype plain.
void PackWeights(const WeightSlice& weight, const PanelLayout& layout, int64_t row_begin,
                 std::byte* panels);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_WEIGHT_PACKING_H_
