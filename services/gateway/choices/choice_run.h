// One choice of a generation: one stream of the transformer and what becomes of its tokens.
#ifndef PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_RUN_H_
#define PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_RUN_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "phyllo/gateway/v1/generate.pb.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/gateway_metrics.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/prompt.h"
#include "services/gateway/transformer_call.h"

namespace phyllo {

// What all choices of a request share. Borrowed.
struct ChoiceParts {
  BackendSet& backends;
  GatewayMetrics& metrics;
  TransformerLease& lease;
  const GenerationRequest& request;
  const Prompt& prompt;
  ParentCall& parent;  // the client's call: its end ends every choice
  const gateway::v1::ResolvedParameters& resolved;
};

// Thread-compatible but for Cancel.
class ChoiceRun {
 public:
  // `index` keys the random numbers of this choice; `trace` is what is known of the request.
  // Borrows the parts and the sink.
  ChoiceRun(const ChoiceParts& parts, int32_t index, const GenerationTrace& trace,
            ResponseSink& sink);

  // Runs the choice to its end: all its messages have been sent to the sink, the last is its final
  // one. `on_prompt_done` is called once, when the transformer has computed the prompt. Errors are
  // the client's.
  Task<absl::Status> Run(std::function<void()> on_prompt_done);

  // Breaks the stream of the transformer off, now or when it is opened: Run ends with an error
  // soon, unless it is about to end anyway. Thread-safe.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  // What was counted of this choice.
  const GenerationTrace& trace() const { return trace_; }
  // The mean log-probability of the tokens of the answer; wants GenerationRequest::best_of.
  double mean_logprob() const;

 private:
  transformer::v1::GenerateStart MakeStart() const;
  void SetCall(TransformerCall* call) ABSL_LOCKS_EXCLUDED(mutex_);

  const ChoiceParts parts_;
  const int32_t index_;
  GenerationTrace trace_;
  ResponseSink& sink_;
  std::vector<float> logprobs_;  // of the tokens that arrived, if best_of

  absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  TransformerCall* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null while there is none
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_RUN_H_
