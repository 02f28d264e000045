// The half of a generation between the transformer's tokens and the client's messages.
#ifndef PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_STREAM_H_
#define PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_STREAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "phyllo/gateway/v1/generate.pb.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "services/gateway/answers/answer_decoder.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/requests/gateway_metrics.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/prompt.h"

namespace phyllo {

// Borrows everything it is made of.
struct AnswerStreamOptions {
  const GenerationRequest& request;
  const Prompt& prompt;
  ResponseSink& sink;
  GatewayMetrics& metrics;
  GenerationTrace& trace;
};

// Takes tokens as they come, decodes them, looks for the end, sends deltas, and in the end the
// final message. Everything of an answer that depends on tokens does so by their order alone, not
// by how they are grouped. Thread-compatible.
class AnswerStream {
 public:
  // `decoder` is that of the tokenizer that decodes this answer.
  AnswerStream(const AnswerStreamOptions& options, DecodeMultiplexer& decoder, ParentCall& parent);

  // Sends the prompt's text if it is to be repeated.
  Task<absl::Status> Begin();
  Task<absl::Status> AddTokens(const transformer::v1::Tokens& tokens);
  Task<absl::Status> AddProgress(const transformer::v1::PrefillProgress& progress);
  Task<absl::Status> AddPromptLogprobs(transformer::v1::PromptLogprobs logprobs);
  // What is known of a generation that a stop sequence may end before the transformer does.
  void SetPrefilled(const transformer::v1::Prefilled& prefilled);
  // The transformer is done. Sends what was held back.
  Task<absl::Status> End(const transformer::v1::GenerateFinished& finished);

  // True after End, and when a stop sequence has ended the answer: the transformer is not needed
  // any more.
  bool ended() const { return ended_; }

  // Sends the final message; `resolved` says what the answer was computed with.
  Task<absl::Status> SendFinished(const gateway::v1::ResolvedParameters& resolved);

 private:
  Task<absl::Status> Flush();
  Task<absl::Status> SendDelta(gateway::v1::Delta delta);
  bool WantsLogprobs() const { return options_.request.wire->output().has_logprobs(); }

  const AnswerStreamOptions options_;
  AnswerDecoder decoder_;
  gateway::v1::Delta pending_;  // Ids and log-probabilities that are not decoded yet.
  bool ended_ = false;
  std::optional<int32_t> stop_token_id_;
  google::protobuf::RepeatedPtrField<common::v1::PositionLogprobs> prompt_logprobs_;
  transformer::v1::GenerateFinished transformer_finished_;  // Of what is known so far.
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_STREAM_H_
