// A named tensor inside a memory-mapped file.
#ifndef PHYLLO_MODEL_CHECKPOINT_TENSOR_VIEW_H_
#define PHYLLO_MODEL_CHECKPOINT_TENSOR_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/tensor/dtype.h"

namespace phyllo {

// A plain value that borrows its bytes.
struct TensorView {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;      // outermost first; empty = a scalar; a size may be 0
  absl::Span<const uint8_t> data;  // row-major, little-endian, RunBytes(dtype, num_elements());
                                   // alignment is not promised

  // product(shape); 1 for a scalar.
  int64_t num_elements() const {
    int64_t product = 1;
    for (const int64_t size : shape) product *= size;
    return product;
  }
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CHECKPOINT_TENSOR_VIEW_H_
