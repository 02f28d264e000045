// The bytes of the tokens in log-probabilities, which the transformer does not know.
#ifndef PHYLLO_SERVICES_GATEWAY_ANSWERS_LOGPROB_TOKENS_H_
#define PHYLLO_SERVICES_GATEWAY_ANSWERS_LOGPROB_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "phyllo/common/v1/generation.pb.h"

namespace phyllo {

using RepeatedLogprobs = google::protobuf::RepeatedPtrField<common::v1::PositionLogprobs>;

// Every id that occurs in `logprobs`, chosen before top, in order.
std::vector<int32_t> TokenIdsOf(const RepeatedLogprobs& logprobs);

// Writes the bytes of TokenIdsOf(logprobs) in.
void FillTokens(std::vector<std::string> tokens, RepeatedLogprobs& logprobs);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ANSWERS_LOGPROB_TOKENS_H_
