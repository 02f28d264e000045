#include "model/transformer/precision/packed_bytes.h"

#include <cstddef>

#include "model/config/weight_map.h"
#include "model/config/weight_names.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

// Bytes of a matrix [rows, columns], its bias included.
int64_t MatrixBytes(int64_t rows, int64_t columns, Precision precision) {
  const int64_t elements = rows * columns;
  const int64_t bias = rows * static_cast<int64_t>(sizeof(float));
  switch (precision) {
    case Precision::kF32:
      return 4 * elements + bias;
    case Precision::kBf16:
      return 2 * elements + bias;
    case Precision::kInt8:  // a scale and a sum of weights a row
      return elements + 3 * bias;
    case Precision::kInt4:  // half a byte, and half a byte for the multiplier of 32
      return elements / 2 + elements / 64 + 3 * bias;
  }
  return 0;
}

int64_t WeightBytes(const WeightSpec& spec, const DecoderDescription& description,
                    const ModelPrecision& precision) {
  switch (spec.role) {
    case WeightRole::kQProj:
    case WeightRole::kKProj:
    case WeightRole::kVProj:
    case WeightRole::kOProj:
      return MatrixBytes(spec.rows, spec.columns, precision.attention);
    case WeightRole::kGateProj:
    case WeightRole::kUpProj:
    case WeightRole::kDownProj:
      return MatrixBytes(spec.rows, spec.columns, precision.feed_forward);
    case WeightRole::kRouter:
      return MatrixBytes(spec.rows, spec.columns, Precision::kF32);
    case WeightRole::kLmHead:
      return MatrixBytes(spec.rows, spec.columns, precision.lm_head);
    case WeightRole::kEmbedTokens:  // packed where it is the head, else read where it lies
      return description.head == HeadKind::kLmHead && description.tie_word_embeddings
                 ? MatrixBytes(spec.rows, spec.columns, precision.lm_head)
                 : 0;
    case WeightRole::kEmbedPositions:
    case WeightRole::kScore:
      return 0;
    default:  // vectors
      return spec.rows * static_cast<int64_t>(sizeof(float));
  }
}

}  // namespace

int64_t PackedWeightBytes(const DecoderDescription& description, const ModelPrecision& precision) {
  int64_t bytes = 0;
  for (const WeightSpec& spec : BuildWeightMap(description).specs)
    bytes += WeightBytes(spec, description, precision);
  return bytes;
}

}  // namespace phyllo
