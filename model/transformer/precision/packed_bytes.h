#ifndef PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_
#define PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_

#include <cstdint>

#include "model/config/decoder_description.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// Bytes that DecoderWeights::Load takes for all layers and the head, before anything is loaded.
int64_t PackedWeightBytes(const DecoderDescription& description, const ModelPrecision& precision);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_
