#include "services/gateway/backends/path.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "services/common/server_identity.h"

namespace phyllo {

absl::StatusOr<int64_t> ChooseByTurn(absl::Span<const BackendState> backends, BackendKind kind,
                                     const BackendState* partner, uint64_t turn) {
  std::vector<int64_t> candidates;
  absl::Status why_not = ServiceUnavailable(kind);
  for (size_t i = 0; i < backends.size(); ++i) {
    const BackendState& backend = backends[i];
    if (backend.kind != kind || !backend.available()) continue;
    const absl::Status same = partner == nullptr ? absl::OkStatus()
                                                 : CheckSameModel(partner->name, partner->server(),
                                                                  backend.name, backend.server());
    if (same.ok()) {
      candidates.push_back(static_cast<int64_t>(i));
    } else {
      why_not = same;
    }
  }
  if (candidates.empty()) return why_not;
  return candidates[turn % candidates.size()];
}

absl::StatusOr<int64_t> ChooseTransformer(absl::Span<const BackendState> backends, uint64_t turn) {
  std::vector<int64_t> candidates;
  int64_t least = std::numeric_limits<int64_t>::max();
  absl::Status why_not = ServiceUnavailable(BackendKind::kTransformer);
  for (size_t i = 0; i < backends.size(); ++i) {
    const BackendState& backend = backends[i];
    if (backend.kind != BackendKind::kTransformer || !backend.available() ||
        backend.outstanding_tokens > least)
      continue;
    const absl::StatusOr<int64_t> tokenizer =
        ChooseByTurn(backends, BackendKind::kTokenizer, &backend, 0);
    const absl::StatusOr<int64_t> embedding =
        ChooseByTurn(backends, BackendKind::kEmbedding, &backend, 0);
    if (!tokenizer.ok() || !embedding.ok()) {
      why_not = tokenizer.ok() ? embedding.status() : tokenizer.status();
      continue;
    }
    if (backend.outstanding_tokens < least) candidates.clear();
    least = backend.outstanding_tokens;
    candidates.push_back(static_cast<int64_t>(i));
  }
  if (candidates.empty()) return why_not;
  return candidates[turn % candidates.size()];
}

}  // namespace phyllo
