#ifndef PHYLLO_MODEL_ONEDNN_PANEL_LAYOUT_H_
#define PHYLLO_MODEL_ONEDNN_PANEL_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "model/onednn/integer/int4_layout.h"
#include "model/onednn/linear_kernels.h"
#include "model/tensor/linear_input.h"

namespace phyllo {

// How the weights of kLinearPanel output features lie in memory, k = padded_in_features:
//   f32   [k, kLinearPanel]
//   bf16  [k / 2, kLinearPanel, 2], pairs of k side by side
//   int8  [k / 4, kLinearPanel, 4], fours of k side by side; then Offsets and Scales
//   int4  Int4Layout; then Offsets and Scales
// Private to model/onednn. A value type.
class PanelLayout {
 public:
  PanelLayout(int64_t in_features, Precision precision)
      : precision_(precision),
        padded_in_features_((in_features + KGranule(precision) - 1) / KGranule(precision) *
                            KGranule(precision)) {}

  // What k and its chunks are multiples of: a row of an AMX tile, Int4Layout::kBlock.
  static constexpr int64_t KGranule(Precision precision) {
    return InputPrecision(precision) == Precision::kInt8 ? 64 : 32;
  }

  Precision precision() const { return precision_; }
  int64_t padded_in_features() const { return padded_in_features_; }
  // Bytes of the weights of `k` input features, a multiple of KGranule.
  int64_t WeightBytes(int64_t k) const {
    if (precision_ == Precision::kInt4) return k / Int4Layout::kBlock * Int4Layout::kBlockBytes;
    return k * kLinearPanel * BytesPerElement(precision_);
  }
  int64_t panel_bytes() const {
    const bool has_scales = InputPrecision(precision_) == Precision::kInt8;
    return WeightBytes(padded_in_features_) + (has_scales ? kScaleBytes : 0);
  }

  // Of int8 and int4, each [kLinearPanel] at the end of a panel: what a row of x that is all zero
  // (bytes of LinearInput::kInt8Zero) would give, kInt8Zero * (sum of the feature's weights) ...
  int32_t* Offsets(std::byte* panel) const {
    return reinterpret_cast<int32_t*>(panel + WeightBytes(padded_in_features_));
  }
  // ... and what one step of the weights is worth.
  float* Scales(std::byte* panel) const {
    return reinterpret_cast<float*>(Offsets(panel) + kLinearPanel);
  }

 private:
  static constexpr int64_t kScaleBytes = kLinearPanel * int64_t{sizeof(int32_t) + sizeof(float)};

  Precision precision_;
  int64_t padded_in_features_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_PANEL_LAYOUT_H_
