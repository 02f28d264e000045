#include "services/gateway/requests/admission.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

// A second is many steps of any model: some request has ended by then, or the machine is too small.
constexpr absl::Duration kRetryDelay = absl::Seconds(1);

absl::Status Overload(absl::string_view what, int64_t under_way, int64_t limit) {
  const absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      "the gateway is at its limit: ", under_way, " ", what, " under way, at most ", limit));
  return WithRetryDelay(
      WithReason(status, {"OVERLOAD", {{absl::StrCat("max_", what), absl::StrCat(limit)}}}),
      kRetryDelay);
}

}  // namespace

absl::StatusOr<AdmissionPermit> Admission::AdmitRequest() {
  {
    const absl::MutexLock lock(&mutex_);
    if (requests_ < limits_.max_requests) {
      ++requests_;
      return AdmissionPermit(*this);
    }
  }
  return Overload("requests", limits_.max_requests, limits_.max_requests);
}

int64_t Admission::request_count() const {
  const absl::MutexLock lock(&mutex_);
  return requests_;
}

int64_t Admission::token_count() const {
  const absl::MutexLock lock(&mutex_);
  return tokens_;
}

absl::Status Admission::AddTokens(int64_t token_count) {
  int64_t under_way = 0;
  {
    const absl::MutexLock lock(&mutex_);
    under_way = tokens_;
    // A request larger than the limit is let in when it is alone: it would otherwise never be.
    if (tokens_ == 0 || tokens_ + token_count <= limits_.max_tokens) {
      tokens_ += token_count;
      return absl::OkStatus();
    }
  }
  return Overload("tokens", under_way, limits_.max_tokens);
}

void Admission::Release(int64_t token_count) {
  const absl::MutexLock lock(&mutex_);
  --requests_;
  tokens_ -= token_count;
}

AdmissionPermit::~AdmissionPermit() {
  if (admission_ != nullptr) admission_->Release(tokens_);
}

absl::Status AdmissionPermit::AddTokens(int64_t token_count) {
  const absl::Status status = admission_->AddTokens(token_count);
  if (status.ok()) tokens_ += token_count;
  return status;
}

}  // namespace phyllo
