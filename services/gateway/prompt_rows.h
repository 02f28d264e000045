// The embedded rows of a prompt, fetched when the transformer asks for them.
#ifndef PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_
#define PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "phyllo/common/v1/tensor.pb.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "services/gateway/async/client_calls.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"

namespace phyllo {

// Answers the needs of one sequence, from the embedding services by its token ids, or from rows
// that the client gave. Borrows all arguments. Thread-compatible.
class PromptRows {
 public:
  // `parent` is the client's call: its end ends the calls to the embedding service.
  PromptRows(BackendSet& backends, const BackendState& transformer, const ParentCall& parent,
             const std::vector<int32_t>& token_ids);

  // From now on answers with these rows, one for each token id: a checked tensor, see
  // CheckPromptRows.
  void UseGivenRows(const common::v1::Tensor& rows) { given_rows_ = &rows; }

  // Fetches the rows of `need` from embedding services, in chunks that one message holds, and
  // writes each chunk to `call`, a stream of the transformer. INTERNAL if the transformer asks for
  // positions that the prompt does not have.
  template <typename Request, typename Response>
  Task<absl::Status> Answer(const transformer::v1::Need& need, BidiCall<Request, Response>& call) {
    const auto send = [&call](transformer::v1::HiddenStates rows) -> Task<bool> {
      Request request;
      request.mutable_hidden_states()->Swap(&rows);
      co_return co_await call.Write(request);
    };
    co_return co_await AnswerWith(need, send);
  }

  // Time in the embedding service so far.
  absl::Duration embed_time() const { return embed_time_; }

 private:
  // `send` tells whether the transformer still listens.
  using Send = std::function<Task<bool>(transformer::v1::HiddenStates)>;
  Task<absl::Status> AnswerWith(const transformer::v1::Need& need, const Send& send);
  Task<absl::Status> FetchChunk(int64_t first_position, int64_t count,
                                transformer::v1::HiddenStates& rows);

  BackendSet& backends_;
  const BackendState& transformer_;
  const ParentCall& parent_;
  const std::vector<int32_t>& token_ids_;
  const int64_t max_chunk_;
  const common::v1::Tensor* given_rows_ = nullptr;
  absl::Duration embed_time_ = absl::ZeroDuration();
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_
