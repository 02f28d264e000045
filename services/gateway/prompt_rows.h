// The embedded rows of a prompt, fetched when the transformer asks for them.
#ifndef PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_
#define PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "phyllo/common/v1/tensor.pb.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "services/gateway/backends/backend_set.h"

namespace phyllo {

// Answers the needs of one sequence, from the embedding services by its token ids, or from rows
// that the client gave. Borrows all arguments. Thread-compatible.
class PromptRows {
 public:
  // `parent` is the client's call: its end ends the calls to the embedding service.
  PromptRows(BackendSet& backends, const BackendState& transformer,
             const grpc::ServerContext& parent, const std::vector<int32_t>& token_ids);

  // From now on answers with these rows, one for each token id: a checked tensor, see
  // CheckPromptRows.
  void UseGivenRows(const common::v1::Tensor& rows) { given_rows_ = &rows; }

  // Fetches the rows of `need` from embedding services, in chunks that one message holds, and gives
  // each chunk to `send`, which tells whether the transformer still listens. INTERNAL if the
  // transformer asks for positions that the prompt does not have.
  absl::Status Answer(const transformer::v1::Need& need,
                      absl::FunctionRef<bool(transformer::v1::HiddenStates)> send);

  // Time in the embedding service so far.
  absl::Duration embed_time() const { return embed_time_; }

 private:
  absl::Status FetchChunk(int64_t first_position, int64_t count,
                          transformer::v1::HiddenStates& rows);

  BackendSet& backends_;
  const BackendState& transformer_;
  const grpc::ServerContext& parent_;
  const std::vector<int32_t>& token_ids_;
  const int64_t max_chunk_;
  const common::v1::Tensor* given_rows_ = nullptr;
  absl::Duration embed_time_ = absl::ZeroDuration();
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_PROMPT_ROWS_H_
