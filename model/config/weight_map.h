// Which tensors a checkpoint of a described decoder holds, under which names and in which layout.
// The loader, the summary and the random-checkpoint tool read it. The names themselves are the
// families' (weight_names.h).
#ifndef PHYLLO_MODEL_CONFIG_WEIGHT_MAP_H_
#define PHYLLO_MODEL_CONFIG_WEIGHT_MAP_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/weight_names.h"

namespace phyllo {

// A weight, and where it lies in a file. As a matrix it is [rows, columns]; a vector is [rows, 1].
struct WeightSpec {
  WeightRole role = WeightRole::kEmbedTokens;
  int64_t layer = -1;  // 0-based; -1 outside the layers
  // Of kGateProj, kUpProj, kDownProj in a layer with experts: 0 .. num_experts - 1, then the shared
  // ones num_experts .. num_experts + num_shared_experts - 1. Else -1.
  int64_t expert = -1;
  int64_t rows = 0;
  int64_t columns = 1;

  std::vector<std::string> names;  // accepted tensor names, the preferred one first
  std::vector<int64_t> shape;      // of the whole tensor in the file
  bool transposed = false;         // the file holds [columns, rows] (GPT-2's Conv1D)

  // The tensor may be a fused one, which holds the rows of other weights too. Row r of the weight
  // is row TensorRow(r) of the tensor. In a tensor of one weight, or of several stacked ones
  // (GPT-2's c_attn = q | k | v), the rows lie together from row_begin on: run_rows = 0. Otherwise
  // they lie in runs of run_rows, which divides rows, run_stride from begin to begin (GPT-NeoX's
  // query_key_value: q, k and v of the first head, then of the second).
  int64_t row_begin = 0;
  int64_t run_rows = 0;
  int64_t run_stride = 0;

  // Not 0: the rows of each head of this many are interleaved (WeightNames::interleaved_heads).
  int64_t interleaved_head_dim = 0;

  int64_t TensorRow(int64_t row) const {
    if (interleaved_head_dim != 0) {
      const int64_t half = interleaved_head_dim / 2;
      const int64_t of_head = row % interleaved_head_dim;
      row += (of_head < half ? 2 * of_head : 2 * (of_head - half) + 1) - of_head;
    }
    if (run_rows == 0) return row_begin + row;
    return row_begin + row / run_rows * run_stride + row % run_rows;
  }

  // How many rows from `row` on, at most `count`, lie behind each other in the tensor.
  int64_t ContiguousRows(int64_t row, int64_t count) const {
    if (interleaved_head_dim != 0) return std::min<int64_t>(count, 1);
    return run_rows == 0 ? count : std::min(count, run_rows - row % run_rows);
  }
};

// A plain value.
struct WeightMap {
  // In the order of computation; all roles of the description and no others.
  std::vector<WeightSpec> specs;

  // Names that may occur and are not weights (mask buffers, rotary tables). '*' stands for a layer
  // number.
  std::vector<std::string> ignored_names;

  // Names of lm_head if it is tied: may occur, but then must equal embed_tokens.
  std::vector<std::string> tied_names;

  // The spec of that role, or null.
  const WeightSpec* Find(WeightRole role, int64_t layer = -1, int64_t expert = -1) const;
};

// REQUIRES: description.weight_names has every role that the description needs.
WeightMap BuildWeightMap(const DecoderDescription& description);

// The tensor of `spec`: the first of its names that the checkpoint has, checked for shape and dtype
// (F32, F16, BF16). Errors: NOT_FOUND naming the tensor; INVALID_ARGUMENT naming it, what it has
// and what it should have.
absl::StatusOr<const TensorView*> FindWeight(const WeightSpec& spec, const Checkpoint& checkpoint);

// Checks a checkpoint whole. INVALID_ARGUMENT lists, by name, every tensor that is missing,
// superfluous, there under two names, mis-shaped or of a wrong dtype (the first 20 of them), and a
// tied lm_head that differs from embed_tokens.
absl::Status CheckTensors(const WeightMap& map, const Checkpoint& checkpoint);

// Widens rows [row, row + dst.size() / columns) of the weight, counted within its slice, to float;
// transposes if the file does. `tensor` is what FindWeight gave for `spec`; dst is [count,
// columns], row-major. REQUIRES: the rows exist.
void ReadWeightRows(const WeightSpec& spec, const TensorView& tensor, int64_t row,
                    absl::Span<float> dst);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_WEIGHT_MAP_H_
