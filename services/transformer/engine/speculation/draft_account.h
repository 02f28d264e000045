// What drafts have cost and brought.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_ACCOUNT_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_ACCOUNT_H_

#include <algorithm>
#include <cstdint>

namespace phyllo {

// A step as it was, and as it would have been without its drafts.
struct DraftedStep {
  double seconds = 0.0;         // that it took, the drafter's time included
  double plain_seconds = 0.0;   // that it would have taken without drafts, > 0
  int64_t plain_row_count = 0;  // of sampled tokens and prompts, >= 1
  bool drafted = false;         // it had drafts, or the drafter was asked
  int64_t accepted_count = 0;   // drafted tokens that were right
};

// Which drafts are worth their time is decided by estimates. Whatever these say, this account of
// the time that was really lost and won bounds what drafts may cost: they are tried while it is not
// overdrawn. It gets kAllowance of all time, whether drafts are tried or not, and holds no more
// than kMostSteps steps, so that what was won once is not lost for long. Thread-compatible.
class DraftAccount {
 public:
  static constexpr double kAllowance = 0.02;
  static constexpr double kFirstSteps = 2.0;  // that it begins with
  static constexpr double kMostSteps = 8.0;

  bool allows_drafts() const { return balance_seconds_ > 0.0; }

  void Add(const DraftedStep& step) {
    if (!opened_) balance_seconds_ = kFirstSteps * step.plain_seconds;
    opened_ = true;
    // A step that something else holds up, or in which the drafter reads a long prompt, does not
    // overdraw an account that is full.
    const double seconds = std::min(step.seconds, kMostStretch * step.plain_seconds);
    balance_seconds_ += kAllowance * seconds;
    if (step.drafted) {
      const double won = step.plain_seconds * static_cast<double>(step.accepted_count) /
                         static_cast<double>(step.plain_row_count);
      balance_seconds_ += won - (seconds - step.plain_seconds);
    }
    balance_seconds_ = std::min(balance_seconds_, kMostSteps * step.plain_seconds);
  }

 private:
  static constexpr double kMostStretch = 4.0;

  double balance_seconds_ = 1.0;
  bool opened_ = false;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_DRAFT_ACCOUNT_H_
