#include "services/gateway/choices/choice_run.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "services/gateway/answers/answer_stream.h"
#include "services/gateway/prompt_rows.h"

namespace phyllo {

using transformer::v1::GenerateResponse;
using transformer::v1::GenerateStart;

ChoiceRun::ChoiceRun(const ChoiceParts& parts, int32_t index, const GenerationTrace& trace,
                     ResponseSink& sink)
    : parts_(parts), index_(index), trace_(trace), sink_(sink) {}

GenerateStart ChoiceRun::MakeStart() const {
  const GenerationRequest& request = parts_.request;
  GenerateStart start;
  start.mutable_prompt_token_ids()->Add(parts_.prompt.token_ids.begin(),
                                        parts_.prompt.token_ids.end());
  *start.mutable_sampling() = request.sampling;
  *start.mutable_stopping() = request.stopping;
  const gateway::v1::OutputParameters& output = request.wire->output();
  if (output.has_logprobs()) *start.mutable_logprobs() = output.logprobs();
  if (request.best_of()) start.mutable_logprobs();
  if (request.wire->has_hidden_states()) start.set_prompt_is_hidden_states(true);
  // Those of the prompt are the same for all choices, and cost its computation.
  if (output.has_prompt_logprobs() && index_ == 0)
    *start.mutable_prompt_logprobs() = output.prompt_logprobs();
  if (index_ > 0) start.set_choice_index(index_);
  if (request.wire->has_speculative_decoding())
    start.mutable_speculation()->set_enabled(request.wire->speculative_decoding());
  *start.mutable_context() = request.context;
  return start;
}

Task<absl::Status> ChoiceRun::Run(std::function<void()> on_prompt_done) {
  PHYLLO_CO_ASSIGN_OR_RETURN(DecodeMultiplexer* const decoder,
                             parts_.backends.PickDecoder(parts_.lease.state()));
  const AnswerStreamOptions answer_options{parts_.request, parts_.prompt, sink_, parts_.metrics,
                                           trace_};
  AnswerStream answer(answer_options, *decoder, parts_.parent);
  PromptRows prompt_rows(parts_.backends, parts_.lease.state(), parts_.parent,
                         parts_.prompt.token_ids);
  const gateway::v1::GenerateRequest& wire = *parts_.request.wire;
  if (wire.has_hidden_states()) prompt_rows.UseGivenRows(wire.hidden_states());
  TransformerCall call(parts_.lease, prompt_rows, parts_.parent, MakeStart());
  SetCall(&call);
  const auto forget_call = absl::MakeCleanup([this] { SetCall(nullptr); });

  PHYLLO_CO_RETURN_IF_ERROR(co_await answer.Begin());
  bool prompt_done = false;
  while (!answer.ended()) {
    PHYLLO_CO_ASSIGN_OR_RETURN(const GenerateResponse event, co_await call.Next());
    if ((event.has_tokens() || event.has_finished()) && !std::exchange(prompt_done, true))
      on_prompt_done();
    if (event.has_tokens()) {
      for (const common::v1::PositionLogprobs& logprobs : event.tokens().logprobs())
        logprobs_.push_back(logprobs.chosen().logprob());
      PHYLLO_CO_RETURN_IF_ERROR(co_await answer.AddTokens(event.tokens()));
    }
    if (event.has_prefill_progress())
      PHYLLO_CO_RETURN_IF_ERROR(co_await answer.AddProgress(event.prefill_progress()));
    if (event.has_prefilled()) answer.SetPrefilled(event.prefilled());
    if (event.has_prompt_logprobs())
      PHYLLO_CO_RETURN_IF_ERROR(co_await answer.AddPromptLogprobs(event.prompt_logprobs()));
    if (event.has_finished()) PHYLLO_CO_RETURN_IF_ERROR(co_await answer.End(event.finished()));
  }
  trace_.embed_time = prompt_rows.embed_time();
  co_return co_await answer.SendFinished(parts_.resolved);
}

void ChoiceRun::SetCall(TransformerCall* call) {
  const absl::MutexLock lock(&mutex_);
  call_ = call;
  if (call_ != nullptr && cancelled_) call_->Cancel();
}

void ChoiceRun::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->Cancel();
}

double ChoiceRun::mean_logprob() const {
  // Tokens behind a stop sequence are not part of the answer.
  const auto count =
      std::min<int64_t>(trace_.generated_token_count, static_cast<int64_t>(logprobs_.size()));
  if (count == 0) return -std::numeric_limits<double>::infinity();
  return std::accumulate(logprobs_.begin(), logprobs_.begin() + count, 0.0) /
         static_cast<double>(count);
}

}  // namespace phyllo
