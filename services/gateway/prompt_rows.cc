#include "services/gateway/prompt_rows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "services/common/stopwatch.h"
#include "services/gateway/requests/prompt_tensor.h"

namespace phyllo {
namespace {

// The least of the embedding services' limits: any of them may be next in turn.
int64_t MaxRows(const std::vector<BackendState>& backends) {
  int64_t max_rows = std::numeric_limits<int64_t>::max();
  for (const BackendState& backend : backends) {
    if (backend.kind == BackendKind::kEmbedding && backend.available())
      max_rows = std::min(max_rows, backend.embedding.max_rows());
  }
  return std::max<int64_t>(max_rows, 1);
}

}  // namespace

PromptRows::PromptRows(BackendSet& backends, const BackendState& transformer,
                       const ParentCall& parent, const std::vector<int32_t>& token_ids)
    : backends_(backends),
      transformer_(transformer),
      parent_(parent),
      token_ids_(token_ids),
      max_chunk_(MaxRows(backends.Snapshot())) {}

Task<absl::Status> PromptRows::AnswerWith(const transformer::v1::Need& need, const Send& send) {
  const auto size = static_cast<int64_t>(token_ids_.size());
  if (need.first_position() < 0 || need.count() < 1 || need.first_position() >= size ||
      need.count() > size - need.first_position()) {
    co_return absl::InternalError(absl::StrCat("the transformer asks for ", need.count(),
                                               " rows from position ", need.first_position(),
                                               " of a prompt of ", size));
  }
  const int64_t end = need.first_position() + need.count();
  for (int64_t position = need.first_position(); position < end;) {
    const int64_t count = std::min(end - position, max_chunk_);
    transformer::v1::HiddenStates rows;
    const Stopwatch watch;
    const absl::Status fetched = co_await FetchChunk(position, count, rows);
    embed_time_ += watch.Elapsed();
    if (!fetched.ok()) co_return fetched;
    // A transformer that is gone says why in its status.
    const bool listening = co_await send(std::move(rows));
    if (!listening) co_return absl::OkStatus();
    position += count;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> PromptRows::FetchChunk(int64_t first_position, int64_t count,
                                          transformer::v1::HiddenStates& rows) {
  rows.set_first_position(first_position);
  if (given_rows_ != nullptr) {
    *rows.mutable_rows() = SlicePromptRows(*given_rows_, first_position, count);
    co_return absl::OkStatus();
  }
  embedding::v1::EmbedRequest request;
  request.mutable_token_ids()->Add(token_ids_.begin() + first_position,
                                   token_ids_.begin() + first_position + count);
  request.set_first_position(first_position);
  embedding::v1::EmbedResponse response;
  PHYLLO_CO_RETURN_IF_ERROR(co_await backends_.CallEmbedding(
      &transformer_, parent_, &EmbeddingMethods::Embed, request, response));
  rows.mutable_rows()->Swap(response.mutable_hidden_states());
  co_return absl::OkStatus();
}

}  // namespace phyllo
