#include "clients/bench/load_report.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/bench/sample_summary.h"

namespace phyllo {
namespace {

struct Latency {
  const char* title;
  const char* json_name;
  const std::vector<double> LoadResult::*seconds;
};

constexpr Latency kLatencies[] = {
    {"time to first token", "time_to_first_token_ms", &LoadResult::time_to_first_token},
    {"inter-token latency", "inter_token_latency_ms", &LoadResult::inter_token_latency},
    {"time per output token", "time_per_output_token_ms", &LoadResult::time_per_output_token},
    {"end-to-end latency", "end_to_end_latency_ms", &LoadResult::end_to_end_latency},
};

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double TokensPerMessage(const LoadResult& result) {
  return Ratio(static_cast<double>(result.output_token_count),
               static_cast<double>(result.message_count));
}

SampleSummary Milliseconds(std::vector<double> seconds) {
  for (double& value : seconds) value *= 1000;
  return Summarize(std::move(seconds));
}

// The transformer's side of the path.
common::v1::ServerInfo TransformerOf(const gateway::v1::GetModelResponse& model) {
  for (const gateway::v1::Backend& backend : model.backends()) {
    if (backend.service() == "transformer" && backend.available()) return backend.server();
  }
  return {};
}

nlohmann::ordered_json SummaryToJson(const SampleSummary& summary) {
  return {{"count", summary.count}, {"mean", summary.mean}, {"min", summary.min},
          {"p50", summary.p50},     {"p90", summary.p90},   {"p99", summary.p99},
          {"max", summary.max}};
}

nlohmann::ordered_json SettingsToJson(const LoadOptions& options) {
  nlohmann::ordered_json settings = {
      {"loop", options.request_rate > 0 ? "open" : "closed"},
      {"concurrency", options.concurrency},
      {"request_rate", options.request_rate},
      {"num_requests", options.num_requests},
      {"prompt_tokens", options.prompt_tokens.text()},
      {"output_tokens", options.output_tokens.text()},
      {"turns", options.turns},
      {"shared_prefix_tokens", options.shared_prefix_tokens},
      {"seed", options.seed},
  };
  if (options.duration != absl::InfiniteDuration())
    settings["duration_seconds"] = absl::ToDoubleSeconds(options.duration);
  return settings;
}

std::string FormatLatencies(const LoadResult& result) {
  std::string text = absl::StrFormat("%-22s%10s%10s%10s%10s%10s\n", "milliseconds", "mean", "p50",
                                     "p90", "p99", "max");
  for (const Latency& latency : kLatencies) {
    const SampleSummary summary = Milliseconds(result.*latency.seconds);
    if (summary.count == 0) continue;
    absl::StrAppend(
        &text, absl::StrFormat("%-22s%10.2f%10.2f%10.2f%10.2f%10.2f\n", latency.title, summary.mean,
                               summary.p50, summary.p90, summary.p99, summary.max));
  }
  return text;
}

std::string FormatCounts(const LoadResult& result) {
  std::string text = absl::StrFormat(
      "Requests    %d completed, %d failed, %d cancelled in %.2f s (%.2f a second, at most %d at "
      "once)\nThroughput  %.1f prompt tokens and %.1f new tokens a second; %.2f tokens a message\n",
      result.completed_count, result.failed_count(), result.cancelled_count, result.seconds,
      Ratio(static_cast<double>(result.completed_count), result.seconds), result.peak_concurrency,
      Ratio(static_cast<double>(result.prompt_token_count), result.seconds),
      Ratio(static_cast<double>(result.output_token_count), result.seconds),
      TokensPerMessage(result));
  if (result.cached_prompt_token_count > 0) {
    absl::StrAppend(&text,
                    absl::StrFormat("Prefix hits %d of %d prompt tokens\n",
                                    result.cached_prompt_token_count, result.prompt_token_count));
  }
  if (result.drafted_token_count > 0) {
    absl::StrAppend(&text,
                    absl::StrFormat("Speculation %d of %d drafted tokens accepted\n",
                                    result.accepted_token_count, result.drafted_token_count));
  }
  if (result.preemption_count > 0)
    absl::StrAppend(&text, absl::StrFormat("Preemptions %d\n", result.preemption_count));
  return text;
}

}  // namespace

std::string DescribeLoad(const LoadOptions& options) {
  std::string text = options.request_rate > 0
                         ? absl::StrFormat("open loop, %g a second", options.request_rate)
                         : absl::StrFormat("closed loop, %d %s", options.concurrency,
                                           options.concurrency == 1 ? "stream" : "streams");
  absl::StrAppend(&text, "; prompt ", options.prompt_tokens.text(), ", output ",
                  options.output_tokens.text(), " tokens");
  if (options.turns > 1) absl::StrAppend(&text, "; ", options.turns, " turns a chat");
  if (options.shared_prefix_tokens > 0)
    absl::StrAppend(&text, "; ", options.shared_prefix_tokens, " shared tokens");
  return absl::StrCat(text, "; seed ", options.seed);
}

std::string FormatLoadReport(const LoadOptions& options, const gateway::v1::GetModelResponse& model,
                             const LoadResult& result) {
  const common::v1::ServerInfo server = TransformerOf(model);
  std::string text = absl::StrCat("Model       ", model.model(), ", ", server.precision(), ", ",
                                  server.instruction_set(), "\nLoad        ", DescribeLoad(options),
                                  "\n", FormatCounts(result));
  if (result.completed_count > 0) absl::StrAppend(&text, "\n", FormatLatencies(result));
  for (const auto& [code, error] : result.errors) {
    absl::StrAppend(&text, absl::StatusCodeToString(code), " x ", error.count, ": ", error.message,
                    "\n");
  }
  return text;
}

nlohmann::ordered_json LoadReportToJson(const LoadOptions& options,
                                        const gateway::v1::GetModelResponse& model,
                                        const LoadResult& result) {
  const common::v1::ServerInfo server = TransformerOf(model);
  nlohmann::ordered_json json = {
      {"mode", "serving"},
      {"model", model.model()},
      {"precision", server.precision()},
      {"instruction_set", server.instruction_set()},
      {"settings", SettingsToJson(options)},
      {"seconds", result.seconds},
      {"completed_count", result.completed_count},
      {"failed_count", result.failed_count()},
      {"cancelled_count", result.cancelled_count},
      {"peak_concurrency", result.peak_concurrency},
      {"prompt_token_count", result.prompt_token_count},
      {"cached_prompt_token_count", result.cached_prompt_token_count},
      {"output_token_count", result.output_token_count},
      {"preemption_count", result.preemption_count},
      {"drafted_token_count", result.drafted_token_count},
      {"accepted_token_count", result.accepted_token_count},
      {"requests_per_second", Ratio(static_cast<double>(result.completed_count), result.seconds)},
      {"prompt_tokens_per_second",
       Ratio(static_cast<double>(result.prompt_token_count), result.seconds)},
      {"output_tokens_per_second",
       Ratio(static_cast<double>(result.output_token_count), result.seconds)},
      {"tokens_per_message", TokensPerMessage(result)},
  };
  for (const Latency& latency : kLatencies)
    json[latency.json_name] = SummaryToJson(Milliseconds(result.*latency.seconds));
  nlohmann::ordered_json errors = nlohmann::ordered_json::object();
  for (const auto& [code, error] : result.errors)
    errors[absl::StatusCodeToString(code)] = {{"count", error.count}, {"message", error.message}};
  json["errors"] = std::move(errors);
  return json;
}

}  // namespace phyllo
