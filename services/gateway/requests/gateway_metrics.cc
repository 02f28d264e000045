#include "services/gateway/requests/gateway_metrics.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace phyllo {

GatewayMetrics::GatewayMetrics(MetricRegistry& registry, const Admission& admission)
    : time_to_first_token_(registry.AddHistogram(
          "phyllo_time_to_first_token_seconds",
          "From a request's arrival to its first token, at the gateway.", LatencyBuckets())),
      inter_token_latency_(registry.AddHistogram(
          "phyllo_inter_token_latency_seconds",
          "From one token to the next of a request, at the gateway.", StepLatencyBuckets())),
      e2e_latency_(registry.AddHistogram(
          "phyllo_e2e_request_latency_seconds",
          "From a request's arrival to its final message, successful ones only.",
          LatencyBuckets())),
      tokenize_time_(registry.AddHistogram(
          "phyllo_request_tokenize_time_seconds",
          "Time of a request in the tokenizer before its prompt is known.", StepLatencyBuckets())),
      embed_time_(registry.AddHistogram("phyllo_request_embed_time_seconds",
                                        "Time of a request in the embedding service.",
                                        StepLatencyBuckets())),
      prompt_length_(registry.AddHistogram("phyllo_request_prompt_tokens", "Tokens of a prompt.",
                                           TokenCountBuckets())),
      generation_length_(registry.AddHistogram("phyllo_request_generation_tokens",
                                               "Tokens of an answer.", TokenCountBuckets())),
      prompt_tokens_(registry.AddCounter("phyllo_prompt_tokens_total", "Tokens of all prompts.")),
      generation_tokens_(
          registry.AddCounter("phyllo_generation_tokens_total", "Tokens of all answers.")),
      success_(registry.AddCounterFamily("phyllo_request_success_total",
                                         "Generations that ended well, by reason.")),
      failure_(registry.AddCounterFamily("phyllo_request_failure_total",
                                         "Generations that ended with an error, by status code.")) {
  registry.AddGaugeFunction(
      "phyllo_num_requests_running", "Requests under way at the gateway.",
      [&admission] { return static_cast<double>(admission.request_count()); });
  registry.AddGaugeFunction("phyllo_num_tokens_admitted",
                            "Tokens of prompts and answers of the requests under way.",
                            [&admission] { return static_cast<double>(admission.token_count()); });
}

void GatewayMetrics::CountTokens(int64_t token_count, std::optional<absl::Duration> gap) {
  generation_tokens_.Increment(static_cast<double>(token_count));
  if (!gap.has_value()) return;
  // Tokens that come together share their time.
  const double seconds = absl::ToDoubleSeconds(*gap) / static_cast<double>(token_count);
  for (int64_t i = 0; i < token_count; ++i) inter_token_latency_.Observe(seconds);
}

void GatewayMetrics::CountEnd(const GenerationTrace& trace, const absl::Status& status) {
  if (trace.time_to_first_token.has_value())
    time_to_first_token_.Observe(absl::ToDoubleSeconds(*trace.time_to_first_token));
  if (trace.prompt_token_count > 0) {
    prompt_tokens_.Increment(static_cast<double>(trace.prompt_token_count));
    prompt_length_.Observe(static_cast<double>(trace.prompt_token_count));
    tokenize_time_.Observe(absl::ToDoubleSeconds(trace.tokenize_time));
    embed_time_.Observe(absl::ToDoubleSeconds(trace.embed_time));
  }
  if (!status.ok()) {
    failure_.Add({{"code", absl::StatusCodeToString(status.code())}}).Increment();
    return;
  }
  success_.Add({{"finished_reason", FinishReasonName(trace.finish_reason)}}).Increment();
  generation_length_.Observe(static_cast<double>(trace.generated_token_count));
  e2e_latency_.Observe(absl::ToDoubleSeconds(trace.since_arrival.Elapsed()));
}

std::string FinishReasonName(common::v1::FinishReason reason) {
  return absl::AsciiStrToLower(
      absl::StripPrefix(common::v1::FinishReason_Name(reason), "FINISH_REASON_"));
}

}  // namespace phyllo
