// Which servers work together for a request: policies on a snapshot, without threads or
// connections.
#ifndef PHYLLO_SERVICES_GATEWAY_BACKENDS_PATH_H_
#define PHYLLO_SERVICES_GATEWAY_BACKENDS_PATH_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "services/gateway/backends/backend.h"

namespace phyllo {

// Index of an available server of `kind` that belongs to the same model as `partner` (any, if
// null), the next in turn: `turn` counts calls. UNAVAILABLE if none is available,
// FAILED_PRECONDITION naming both sides if some are but none belongs.
absl::StatusOr<int64_t> ChooseByTurn(absl::Span<const BackendState> backends, BackendKind kind,
                                     const BackendState* partner, uint64_t turn);

// Index of the available transformer with the least outstanding tokens for which a tokenizer and an
// embedding are there; of equals, the next in turn. Errors as above, of the service that is
// missing.
absl::StatusOr<int64_t> ChooseTransformer(absl::Span<const BackendState> backends, uint64_t turn);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_BACKENDS_PATH_H_
