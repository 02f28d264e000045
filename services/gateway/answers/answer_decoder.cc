// Every request on the stream is answered by exactly one response. Requests are written ahead of
// their responses in small groups: one round trip a group, and never so many that both sides could
// wait for each other to read.
#include "services/gateway/answers/answer_decoder.h"

#include <algorithm>
#include <utility>

#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"
#include "services/gateway/backends/backend.h"

namespace phyllo {
namespace {

using tokenizer::v1::DecodeStreamRequest;
using tokenizer::v1::DecodeStreamResponse;

constexpr int64_t kMaxRequestsAhead = 32;

}  // namespace

AnswerDecoder::AnswerDecoder(tokenizer::v1::TokenizerService::Stub& stub,
                             const grpc::ServerContext& parent, const AnswerDecoderOptions& options)
    : one_by_one_(!options.stop_sequences.empty()),
      matcher_(options.stop_sequences, options.include_stop_sequence),
      context_(grpc::ClientContext::FromServerContext(parent)),
      stream_(stub.DecodeStream(context_.get())) {
  stream_options_.set_skip_special_tokens(options.skip_special_tokens);
  stream_options_.mutable_prompt_tail_token_ids()->Add(options.prompt_tail_token_ids.begin(),
                                                       options.prompt_tail_token_ids.end());
}

AnswerDecoder::~AnswerDecoder() {
  if (ended_) return;
  context_->TryCancel();
  DecodeStreamResponse dropped;
  while (stream_->Read(&dropped)) {
  }
  stream_->Finish();
}

absl::StatusOr<DecodedTokens> AnswerDecoder::Append(absl::Span<const int32_t> token_ids,
                                                    absl::Span<const int32_t> lookup_token_ids) {
  DecodedTokens decoded;
  const int64_t ids_per_request = one_by_one_ ? 1 : std::max<int64_t>(token_ids.size(), 1);
  for (size_t begin = 0; (begin < token_ids.size() || begin == 0) && !stopped();) {
    int64_t request_count = 0;
    do {
      PHYLLO_RETURN_IF_ERROR(Write(token_ids.subspan(begin, ids_per_request),
                                   std::exchange(lookup_token_ids, {}), false));
      begin += ids_per_request;
      ++request_count;
    } while (begin < token_ids.size() && request_count < kMaxRequestsAhead);
    for (; request_count > 0; --request_count) {
      PHYLLO_ASSIGN_OR_RETURN(DecodeStreamResponse response, Read());
      for (std::string& token : *response.mutable_lookup_tokens())
        decoded.lookup_tokens.push_back(std::move(token));
      if (stopped()) continue;  // Answers to ids that come after the stop.
      decoded.text += matcher_.Append(response.text_delta());
      for (std::string& token : *response.mutable_tokens())
        decoded.tokens.push_back(std::move(token));
    }
  }
  decoded.used_count = static_cast<int64_t>(decoded.tokens.size());
  return decoded;
}

absl::StatusOr<std::string> AnswerDecoder::Finish() {
  PHYLLO_RETURN_IF_ERROR(Write({}, {}, true));
  PHYLLO_ASSIGN_OR_RETURN(const DecodeStreamResponse response, Read());
  ended_ = true;
  stream_->WritesDone();
  const grpc::Status status = stream_->Finish();
  if (!status.ok()) return BackendCallStatus(BackendKind::kTokenizer, FromGrpcStatus(status));
  std::string text = matcher_.Append(response.text_delta());
  return text + matcher_.Finish();
}

absl::Status AnswerDecoder::Write(absl::Span<const int32_t> token_ids,
                                  absl::Span<const int32_t> lookup_token_ids, bool finish) {
  DecodeStreamRequest request;
  if (!std::exchange(options_sent_, true)) *request.mutable_options() = stream_options_;
  request.mutable_token_ids()->Add(token_ids.begin(), token_ids.end());
  request.mutable_lookup_token_ids()->Add(lookup_token_ids.begin(), lookup_token_ids.end());
  request.set_finish(finish);
  return stream_->Write(request) ? absl::OkStatus() : BrokenStream();
}

absl::StatusOr<DecodeStreamResponse> AnswerDecoder::Read() {
  DecodeStreamResponse response;
  if (!stream_->Read(&response)) return BrokenStream();
  return response;
}

absl::Status AnswerDecoder::BrokenStream() {
  ended_ = true;
  const absl::Status status = FromGrpcStatus(stream_->Finish());
  if (status.ok()) return absl::InternalError("the tokenizer ended the stream early");
  return BackendCallStatus(BackendKind::kTokenizer, status);
}

}  // namespace phyllo
