#include "services/gateway/answers/logprob_tokens.h"

#include <utility>

namespace phyllo {

using common::v1::PositionLogprobs;
using common::v1::TokenLogprob;

std::vector<int32_t> TokenIdsOf(const RepeatedLogprobs& logprobs) {
  std::vector<int32_t> token_ids;
  for (const PositionLogprobs& position : logprobs) {
    token_ids.push_back(position.chosen().token_id());
    for (const TokenLogprob& token : position.top()) token_ids.push_back(token.token_id());
  }
  return token_ids;
}

void FillTokens(std::vector<std::string> tokens, RepeatedLogprobs& logprobs) {
  auto next = tokens.begin();
  for (PositionLogprobs& position : logprobs) {
    if (next != tokens.end()) position.mutable_chosen()->set_token(std::move(*next++));
    for (TokenLogprob& token : *position.mutable_top()) {
      if (next != tokens.end()) token.set_token(std::move(*next++));
    }
  }
}

}  // namespace phyllo
