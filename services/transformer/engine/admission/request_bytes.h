// What a request makes the server hold, in bytes.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_REQUEST_BYTES_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_REQUEST_BYTES_H_

#include <cstdint>

#include "services/transformer/engine/sequence.h"

namespace phyllo {

// From submission until its stream has ended, at most: the request itself, its tokens in the engine
// and the encoding it may ask for, in the engine and on the wire. Not its generated tokens
// (SequenceOutbox counts these), its KV pages, nor prompt rows on their way.
int64_t RequestBytes(const SequenceRequest& request, int64_t hidden_size);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_ADMISSION_REQUEST_BYTES_H_
