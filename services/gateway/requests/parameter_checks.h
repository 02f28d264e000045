// Ranges of the fields that requests of several kinds share. Every error is INVALID_ARGUMENT with
// the field's path, its value and its range.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_PARAMETER_CHECKS_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_PARAMETER_CHECKS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "phyllo/common/v1/generation.pb.h"
#include "phyllo/common/v1/request.pb.h"
#include "phyllo/common/v1/sampling.pb.h"

namespace phyllo {

// A field that is absent is in every range.
absl::Status CheckInteger(absl::string_view field, bool is_set, int64_t value, int64_t low,
                          int64_t high);

// Every id in [0, vocab_size).
absl::Status CheckTokenIds(absl::string_view field, absl::Span<const int32_t> token_ids,
                           int64_t vocab_size);

// Fields "sampling.*".
absl::Status CheckSampling(const common::v1::SamplingParameters& sampling, int64_t vocab_size);

// Fields "stopping.*".
absl::Status CheckStopping(const common::v1::StoppingParameters& stopping, int64_t vocab_size);

// Fields of `field`, for example "output.logprobs".
absl::Status CheckLogprobs(absl::string_view field, const common::v1::LogprobParameters& logprobs,
                           int64_t vocab_size);

// Fields "context.*".
absl::Status CheckContext(const common::v1::RequestContext& context);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_PARAMETER_CHECKS_H_
