#ifndef PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_
#define PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_

#include <cstdint>

#include "model/config/decoder_description.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// Bytes of the packed weights of all layers and the LM head, before anything is loaded. Without
// the padding of rows to whole panels: a few percent too little for models with few rows.
int64_t PackedWeightBytes(const DecoderDescription& description, const ModelPrecision& precision);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_PRECISION_PACKED_BYTES_H_
