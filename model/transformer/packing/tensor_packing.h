#ifndef PHYLLO_MODEL_TRANSFORMER_PACKING_TENSOR_PACKING_H_
#define PHYLLO_MODEL_TRANSFORMER_PACKING_TENSOR_PACKING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/weight_map.h"
#include "model/onednn/packed_linear.h"
#include "model/parallel/thread_pool.h"

namespace phyllo {

// Packs a weight as rows row_begin, row_begin + 1, ... of `linear`, on all threads of the pool. The
// cuts lie between the panels of the packed matrix, so that no two threads write to the same one.
// Errors of PackedLinear::PackRows.
absl::Status PackTensor(const WeightSpec& spec, const TensorView& tensor, int64_t row_begin,
                        ThreadPool& pool, PackedLinear& linear);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_PACKING_TENSOR_PACKING_H_
