#include "tests/benchmark/quality/logits_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/base/check.h"

namespace phyllo {
namespace {

// log of the sum of exp(logits).
double LogSumExp(absl::Span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  return max + std::log(sum);
}

int64_t Argmax(absl::Span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

}  // namespace

void LogitsComparison::Add(absl::Span<const float> reference, absl::Span<const float> other,
                           std::optional<int32_t> next_id) {
  PHYLLO_CHECK(!reference.empty() && reference.size() == other.size());
  const double reference_norm = LogSumExp(reference);
  const double norm = LogSumExp(other);
  double kl = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double log_p = reference[i] - reference_norm;
    kl += std::exp(log_p) * (log_p - (other[i] - norm));
  }
  ++position_count_;
  agreed_count_ += std::isfinite(norm) && Argmax(reference) == Argmax(other);
  kl_ += kl;
  if (!(kl <= max_kl_)) max_kl_ = kl;
  if (!next_id.has_value()) return;
  ++predicted_count_;
  reference_loss_ += reference_norm - reference[*next_id];
  loss_ += norm - other[*next_id];
}

double LogitsComparison::top1_agreement() const {
  return position_count_ == 0 ? 0 : static_cast<double>(agreed_count_) / position_count_;
}

double LogitsComparison::mean_kl() const {
  return position_count_ == 0 ? 0 : kl_ / static_cast<double>(position_count_);
}

std::optional<double> LogitsComparison::Perplexity(double loss) const {
  if (predicted_count_ == 0) return std::nullopt;
  return std::exp(loss / static_cast<double>(predicted_count_));
}

}  // namespace phyllo
