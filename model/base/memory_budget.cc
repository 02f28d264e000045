#include "model/base/memory_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {

absl::Status MemoryBudget::Take(int64_t bytes) {
  int64_t used = used_bytes();
  do {
    if (bytes > limit_bytes_ - used) {
      return absl::ResourceExhaustedError(absl::StrCat(bytes, " bytes more than the ", used,
                                                       " in use are over the limit: ", name_,
                                                       " is ", limit_bytes_));
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return absl::OkStatus();
}

absl::Status MemoryReservation::Grow(int64_t bytes) {
  if (budget_ != nullptr) PHYLLO_RETURN_IF_ERROR(budget_->Take(bytes));
  bytes_ += bytes;
  return absl::OkStatus();
}

MemoryReservation MemoryReservation::Split(int64_t bytes) {
  MemoryReservation part;
  part.budget_ = budget_;
  part.bytes_ = std::min(bytes, bytes_);
  bytes_ -= part.bytes_;
  return part;
}

void MemoryReservation::Clear() {
  if (budget_ != nullptr) budget_->GiveBack(bytes_);
  bytes_ = 0;
}

}  // namespace phyllo
