#ifndef PHYLLO_MODEL_ONEDNN_WEIGHT_SLICE_H_
#define PHYLLO_MODEL_ONEDNN_WEIGHT_SLICE_H_

#include <cstdint>

#include "model/tensor/dtype.h"

namespace phyllo {

// One stored weight tensor, or a slice of it, as it lies in the checkpoint. Borrowed; any
// alignment.
struct WeightSlice {
  enum class Layout {
    kOutIn,  // [out_features, in_features], as torch.nn.Linear stores it
    kInOut,  // [in_features, out_features], as GPT-2's Conv1D stores it
  };

  const void* data = nullptr;
  DType dtype = DType::kF32;  // kF32, kF16 or kBf16
  Layout layout = Layout::kOutIn;
  int64_t out_features = 0;  // of this slice
  int64_t in_features = 0;
  int64_t stride = 0;  // elements between stored rows; 0 for dense
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_WEIGHT_SLICE_H_
