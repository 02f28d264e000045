// A request for a generation that has passed the door: what is behind it need not check again.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_GENERATION_REQUEST_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_GENERATION_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phyllo/common/v1/generation.pb.h"
#include "phyllo/common/v1/request.pb.h"
#include "phyllo/common/v1/sampling.pb.h"
#include "phyllo/gateway/v1/generate.pb.h"
#include "phyllo/transformer/v1/transformer.pb.h"

namespace phyllo {

// A plain value.
struct GenerationRequest {
  // As the client sent it; every field in it is supported and in its range. Borrowed.
  const gateway::v1::GenerateRequest* wire = nullptr;
  // With a request_id.
  common::v1::RequestContext context;
  // With every default filled in: request, then the model's generation_config.json, then built-in;
  // with a seed.
  common::v1::SamplingParameters sampling;
  // Likewise; max_new_tokens may be absent until FitPrompt has seen the prompt.
  common::v1::StoppingParameters stopping;
  // max_new_tokens is what the context leaves, not a number that somebody has asked for.
  bool ends_with_context = false;
  // Ids that end the answer and are not part of its text: stop_token_ids and, unless ignored, the
  // model's end-of-sequence ids.
  absl::flat_hash_set<int32_t> stop_token_ids;
  std::vector<std::string> stop_sequences;
  int32_t choice_count = 1;  // answers that the client gets
  int32_t run_count = 1;     // answers that are generated: choice_count, or more with best_of
  // The best of them are sent when all have ended; otherwise each is sent as it comes.
  bool best_of() const { return run_count > choice_count; }
  // Tokens of an answer that one message may bring together, at least 1.
  int64_t stream_interval = 1;
};

// What the gateway adds where the client says nothing. Drawn anew for every request.
struct RequestDefaults {
  uint64_t seed = 0;
  std::string request_id;
};

// From the operating system's entropy.
RequestDefaults DrawRequestDefaults();

// Checks `wire` against the limits of `model` and fills defaults in. INVALID_ARGUMENT with the
// field for a value out of range and for what is not offered, with the reason; NOT_FOUND for
// another model's name.
absl::StatusOr<GenerationRequest> ValidateGenerateRequest(
    const gateway::v1::GenerateRequest& wire, const transformer::v1::GetInfoResponse& model,
    const RequestDefaults& defaults);

// OK, or NOT_FOUND naming the model that is served, if `name` is not it. Requests without a name
// are for any.
absl::Status CheckModelName(bool has_name, const std::string& name, const std::string& served);

// Makes prompt and answer fit into `max_sequence_length` tokens: cuts the prompt where the
// request's policy says so, and fills request.stopping.max_new_tokens in. Returns how many tokens
// were cut. INVALID_ARGUMENT, with the needed and the available count, if the prompt is empty or
// leaves no room for one new token, or has more log-probabilities than a message holds.
absl::StatusOr<int64_t> FitPrompt(int64_t max_sequence_length, GenerationRequest& request,
                                  std::vector<int32_t>& prompt_token_ids);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_GENERATION_REQUEST_H_
