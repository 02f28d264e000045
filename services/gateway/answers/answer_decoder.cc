// Every request is answered by exactly one response. Requests are sent ahead of their responses in
// small groups: one round trip a group, and a bound for what waits to be written.
#include "services/gateway/answers/answer_decoder.h"

#include <algorithm>
#include <utility>

namespace phyllo {
namespace {

using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;

constexpr int64_t kMaxRequestsAhead = 32;

}  // namespace

AnswerDecoder::AnswerDecoder(DecodeMultiplexer& multiplexer, ParentCall& parent,
                             const AnswerDecoderOptions& options)
    : one_by_one_(!options.stop_sequences.empty()),
      matcher_(options.stop_sequences, options.include_stop_sequence),
      sequence_(multiplexer, parent) {
  options_.set_skip_special_tokens(options.skip_special_tokens);
  options_.mutable_prompt_tail_token_ids()->Add(options.prompt_tail_token_ids.begin(),
                                                options.prompt_tail_token_ids.end());
}

Task<absl::StatusOr<DecodedTokens>> AnswerDecoder::Append(
    absl::Span<const int32_t> token_ids, absl::Span<const int32_t> lookup_token_ids) {
  DecodedTokens decoded;
  const int64_t ids_per_request = one_by_one_ ? 1 : std::max<int64_t>(token_ids.size(), 1);
  for (size_t begin = 0; (begin < token_ids.size() || begin == 0) && !stopped();) {
    int64_t request_count = 0;
    do {
      Send(token_ids.subspan(begin, ids_per_request), std::exchange(lookup_token_ids, {}), false);
      begin += ids_per_request;
      ++request_count;
    } while (begin < token_ids.size() && request_count < kMaxRequestsAhead);
    for (; request_count > 0; --request_count) {
      PHYLLO_CO_ASSIGN_OR_RETURN(DecodeSequenceResponse response, co_await sequence_.Receive());
      for (std::string& token : *response.mutable_lookup_tokens())
        decoded.lookup_tokens.push_back(std::move(token));
      if (stopped()) continue;  // Answers to ids that come after the stop.
      decoded.text += matcher_.Append(response.text_delta());
      decoded.used_count += ids_per_request;
    }
  }
  decoded.used_count = std::min<int64_t>(decoded.used_count, token_ids.size());
  co_return decoded;
}

Task<absl::StatusOr<std::string>> AnswerDecoder::Finish() {
  Send({}, {}, true);
  PHYLLO_CO_ASSIGN_OR_RETURN(const DecodeSequenceResponse response, co_await sequence_.Receive());
  std::string text = matcher_.Append(response.text_delta());
  text += matcher_.Finish();
  co_return text;
}

void AnswerDecoder::Send(absl::Span<const int32_t> token_ids,
                         absl::Span<const int32_t> lookup_token_ids, bool finish) {
  DecodeSequenceRequest request;
  if (!std::exchange(options_sent_, true)) *request.mutable_options() = options_;
  request.mutable_token_ids()->Add(token_ids.begin(), token_ids.end());
  request.mutable_lookup_token_ids()->Add(lookup_token_ids.begin(), lookup_token_ids.end());
  request.set_finish(finish);
  sequence_.Send(std::move(request));
}

}  // namespace phyllo
