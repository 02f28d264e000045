// A bound on the bytes that many holders have together.
//   MemoryBudget budget("max_request_bytes", 1 << 30);
//   MemoryReservation reservation(budget);
//   PHYLLO_RETURN_IF_ERROR(reservation.Grow(bytes));  // before they are allocated
#ifndef PHYLLO_MODEL_BASE_MEMORY_BUDGET_H_
#define PHYLLO_MODEL_BASE_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// Counts; it allocates nothing. Outlives its reservations. Thread-safe.
class MemoryBudget {
 public:
  // `name` is that of the limit in errors.
  MemoryBudget(absl::string_view name, int64_t limit_bytes)
      : name_(name), limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  int64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  int64_t limit_bytes() const { return limit_bytes_; }

 private:
  friend class MemoryReservation;
  absl::Status Take(int64_t bytes);
  void GiveBack(int64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::string name_;
  const int64_t limit_bytes_;
  std::atomic<int64_t> used_bytes_ = 0;
};

// A part of a budget; gives itself back. Movable. Thread-compatible.
class MemoryReservation {
 public:
  // Of no budget: grows without limit.
  MemoryReservation() = default;
  explicit MemoryReservation(MemoryBudget& budget) : budget_(&budget) {}
  MemoryReservation(MemoryReservation&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept {
    Clear();
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~MemoryReservation() { Clear(); }

  // Takes `bytes` >= 0 more. RESOURCE_EXHAUSTED, naming the limit, if the budget has not as much
  // left; nothing has changed then.
  absl::Status Grow(int64_t bytes);
  // Cuts off `bytes` in [0, bytes()] as a reservation of their own.
  MemoryReservation Split(int64_t bytes);
  // Gives everything back.
  void Clear();

  int64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_MEMORY_BUDGET_H_
