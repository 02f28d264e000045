#include "services/gateway/async/parent_call.h"

#include <utility>

namespace phyllo {

std::unique_ptr<grpc::ClientContext> ParentCall::MakeContext() const {
  return context_ == nullptr ? std::make_unique<grpc::ClientContext>()
                             : grpc::ClientContext::FromCallbackServerContext(*context_);
}

bool ParentCall::is_cancelled() const {
  const absl::MutexLock lock(&mutex_);
  return cancelled_ || (context_ != nullptr && context_->IsCancelled());
}

void ParentCall::Cancel() {
  std::map<int64_t, std::function<void()>> listeners;
  {
    const absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    std::swap(listeners, listeners_);
  }
  for (const auto& [id, listener] : listeners) listener();
}

int64_t ParentCall::AddListener(std::function<void()> listener) {
  {
    const absl::MutexLock lock(&mutex_);
    if (!cancelled_) {
      listeners_.emplace(next_id_, std::move(listener));
      return next_id_++;
    }
  }
  listener();
  return 0;
}

void ParentCall::RemoveListener(int64_t id) {
  const absl::MutexLock lock(&mutex_);
  listeners_.erase(id);
}

}  // namespace phyllo
