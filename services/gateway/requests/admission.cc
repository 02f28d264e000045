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

// Adds `count` to `under_way` if that stays within the limit. What is larger than the limit is let
// in when it is alone: it would otherwise never be.
bool Fits(int64_t count, int64_t limit, int64_t& under_way) {
  if (under_way > 0 && under_way + count > limit) return false;
  under_way += count;
  return true;
}

}  // namespace

absl::StatusOr<AdmissionPermit> Admission::AdmitRequest() {
  {
    const absl::MutexLock lock(&mutex_);
    if (requests_ < limits_.max_requests) {
      ++requests_;
      return AdmissionPermit(*this, 1);
    }
  }
  return Overload("requests", limits_.max_requests, limits_.max_requests);
}

AdmissionPermit Admission::AdmitLookup() { return AdmissionPermit(*this, 0); }

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
    if (Fits(token_count, limits_.max_tokens, tokens_)) return absl::OkStatus();
    under_way = tokens_;
  }
  return Overload("tokens", under_way, limits_.max_tokens);
}

absl::Status Admission::AddRequestBytes(int64_t byte_count) {
  // Bytes are memory: not even a request that is alone may have more.
  if (byte_count > limits_.max_request_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the request with its answer may take ", byte_count,
                     " bytes in the gateway, max_request_bytes is ", limits_.max_request_bytes));
  }
  int64_t under_way = 0;
  {
    const absl::MutexLock lock(&mutex_);
    if (Fits(byte_count, limits_.max_request_bytes, request_bytes_)) return absl::OkStatus();
    under_way = request_bytes_;
  }
  return Overload("request_bytes", under_way, limits_.max_request_bytes);
}

absl::Status Admission::AddRequests(int64_t count) {
  int64_t under_way = 0;
  {
    const absl::MutexLock lock(&mutex_);
    under_way = requests_;
    // As for tokens: one that is alone is let in.
    if (requests_ == 1 || requests_ + count <= limits_.max_requests) {
      requests_ += count;
      return absl::OkStatus();
    }
  }
  return Overload("requests", under_way, limits_.max_requests);
}

void Admission::Release(const Held& held) {
  const absl::MutexLock lock(&mutex_);
  requests_ -= held.requests;
  tokens_ -= held.tokens;
  request_bytes_ -= held.request_bytes;
}

AdmissionPermit::~AdmissionPermit() {
  if (admission_ != nullptr) admission_->Release(held_);
}

absl::Status AdmissionPermit::AddRequests(int64_t count) {
  const absl::Status status = admission_->AddRequests(count);
  if (status.ok()) held_.requests += count;
  return status;
}

absl::Status AdmissionPermit::AddTokens(int64_t token_count) {
  const absl::Status status = admission_->AddTokens(token_count);
  if (status.ok()) held_.tokens += token_count;
  return status;
}

absl::Status AdmissionPermit::AddRequestBytes(int64_t byte_count) {
  const absl::Status status = admission_->AddRequestBytes(byte_count);
  if (status.ok()) held_.request_bytes += byte_count;
  return status;
}

}  // namespace phyllo
