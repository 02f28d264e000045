// What the gateway counts: the latencies and tokens that a client sees.
#ifndef PHYLLO_SERVICES_GATEWAY_REQUESTS_GATEWAY_METRICS_H_
#define PHYLLO_SERVICES_GATEWAY_REQUESTS_GATEWAY_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "phyllo/common/v1/generation.pb.h"
#include "services/common/metrics.h"
#include "services/common/stopwatch.h"
#include "services/gateway/requests/admission.h"

namespace phyllo {

// What is known of a generation so far; written while it runs, read when it has ended. A plain
// value.
struct GenerationTrace {
  Stopwatch since_arrival;
  std::string request_id;  // Empty until the request is validated.
  int64_t prompt_token_count = 0;
  int64_t truncated_token_count = 0;
  int64_t generated_token_count = 0;
  absl::Duration tokenize_time = absl::ZeroDuration();
  absl::Duration embed_time = absl::ZeroDuration();
  std::optional<absl::Duration> time_to_first_token;  // Since arrival.
  std::optional<absl::Duration> time_to_last_token;
  common::v1::FinishReason finish_reason = common::v1::FINISH_REASON_UNSPECIFIED;
};

// Owns no metric, refers to those of a registry. Thread-safe.
class GatewayMetrics {
 public:
  // Registers all families. `admission` outlives the scrapes of `registry`.
  GatewayMetrics(MetricRegistry& registry, const Admission& admission);

  // `token_count` tokens arrived `gap` after the previous ones.
  void CountTokens(int64_t token_count, std::optional<absl::Duration> gap);
  // A generation ended with `status`.
  void CountEnd(const GenerationTrace& trace, const absl::Status& status);

 private:
  prometheus::Histogram& time_to_first_token_;
  prometheus::Histogram& inter_token_latency_;
  prometheus::Histogram& e2e_latency_;
  prometheus::Histogram& tokenize_time_;
  prometheus::Histogram& embed_time_;
  prometheus::Histogram& prompt_length_;
  prometheus::Histogram& generation_length_;
  prometheus::Counter& prompt_tokens_;
  prometheus::Counter& generation_tokens_;
  prometheus::Family<prometheus::Counter>& success_;
  prometheus::Family<prometheus::Counter>& failure_;
};

// "eos", "stop_token", "stop_sequence", "length" ...
std::string FinishReasonName(common::v1::FinishReason reason);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_REQUESTS_GATEWAY_METRICS_H_
