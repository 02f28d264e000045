#ifndef PHYLLO_TESTS_BENCHMARK_QUALITY_LOGITS_COMPARISON_H_
#define PHYLLO_TESTS_BENCHMARK_QUALITY_LOGITS_COMPARISON_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace phyllo {

// What is lost between the logits of a model and those of the same model in a lower precision,
// position by position. With p the reference's distribution and q the other's,
//   KL(p || q) = sum_i p_i (log p_i - log q_i), in nats. Thread-compatible.
class LogitsComparison {
 public:
  // Logits [v] of one position, and the id that the text has next, if it goes on. A NaN makes every
  // figure NaN or 0. Requires equal sizes, at least one, and an id in [0, v).
  void Add(absl::Span<const float> reference, absl::Span<const float> other,
           std::optional<int32_t> next_id);

  int64_t position_count() const { return position_count_; }
  // Of all positions: the share at which both have the same largest logit, in [0, 1]; the mean
  // and the largest KL. 0 without positions.
  double top1_agreement() const;
  double mean_kl() const;
  double max_kl() const { return max_kl_; }

  // exp of the mean negative log-probability of the next id. Absent if no position had one.
  std::optional<double> reference_perplexity() const { return Perplexity(reference_loss_); }
  std::optional<double> perplexity() const { return Perplexity(loss_); }

 private:
  std::optional<double> Perplexity(double loss) const;

  int64_t position_count_ = 0;
  int64_t agreed_count_ = 0;
  int64_t predicted_count_ = 0;
  double kl_ = 0;  // sum
  double max_kl_ = 0;
  double reference_loss_ = 0;  // sums
  double loss_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_TESTS_BENCHMARK_QUALITY_LOGITS_COMPARISON_H_
