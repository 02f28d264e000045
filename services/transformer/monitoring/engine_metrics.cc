#include "services/transformer/monitoring/engine_metrics.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace phyllo {
namespace {

const char* ReasonName(const SequenceResult& result) {
  switch (result.finish_reason) {
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStopToken:
      return "stop_token";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContextLimit:
      return "context_limit";
    case FinishReason::kTimeLimit:
      return "time_limit";
    case FinishReason::kScored:
      return "scored";
    case FinishReason::kEncoded:
      return "encoded";
  }
  return "unknown";
}

}  // namespace

EngineMetrics::EngineMetrics(MetricRegistry& registry)
    : registry_(registry),
      step_seconds_(registry.AddHistogram("phyllo_step_seconds", "Time of one step of the batch.",
                                          StepLatencyBuckets())),
      step_rows_(registry.AddHistogram(
          "phyllo_step_rows",
          "Rows of one step: prompt tokens and one for each sequence that decodes.",
          TokenCountBuckets())),
      prefill_tokens_(registry.AddCounter("phyllo_prefill_tokens_total",
                                          "Rows of prompts computed, recomputed ones included.")),
      decode_tokens_(
          registry.AddCounter("phyllo_decode_tokens_total", "Rows of sampled tokens computed.")),
      drafted_tokens_(registry.AddCounter("phyllo_drafted_tokens_total",
                                          "Tokens drafted and verified by speculative decoding.")),
      accepted_tokens_(registry.AddCounter("phyllo_accepted_tokens_total",
                                           "Drafted tokens that were accepted.")),
      preemptions_(registry.AddCounter("phyllo_preemptions_total",
                                       "Sequences that lost their pages and were recomputed.")),
      prefix_queries_(registry.AddCounter("phyllo_prefix_cache_queries_total",
                                          "Prompt tokens looked for in the prefix cache.")),
      prefix_hits_(registry.AddCounter("phyllo_prefix_cache_hits_total",
                                       "Prompt tokens found in the prefix cache.")),
      prefix_evictions_(registry.AddCounter("phyllo_prefix_cache_evictions_total",
                                            "KV pages that the prefix cache lost to other uses.")),
      finished_(registry.AddCounterFamily("phyllo_sequences_finished_total",
                                          "Sequences that ended, by code and reason.")),
      queue_seconds_(registry.AddHistogram(
          "phyllo_queue_seconds", "Time from submission to the first step.", LatencyBuckets())),
      prefill_seconds_(registry.AddHistogram("phyllo_prefill_seconds",
                                             "Time from the first step to the first token.",
                                             LatencyBuckets())),
      decode_seconds_(registry.AddHistogram(
          "phyllo_decode_seconds", "Time from the first token to the last.", LatencyBuckets())),
      time_to_first_token_seconds_(registry.AddHistogram("phyllo_time_to_first_token_seconds",
                                                         "Time from submission to the first token.",
                                                         LatencyBuckets())),
      time_per_output_token_seconds_(registry.AddHistogram(
          "phyllo_time_per_output_token_seconds", "Mean gap between the tokens of a sequence.",
          StepLatencyBuckets())),
      prompt_tokens_(registry.AddHistogram("phyllo_prompt_tokens", "Prompt tokens of a sequence.",
                                           TokenCountBuckets())),
      generated_tokens_(registry.AddHistogram(
          "phyllo_generated_tokens", "Generated tokens of a sequence.", TokenCountBuckets())) {}

void EngineMetrics::OnStep(const StepReport& report) {
  step_seconds_.Observe(absl::ToDoubleSeconds(report.duration));
  step_rows_.Observe(static_cast<double>(report.shape.row_count));
  prefill_tokens_.Increment(static_cast<double>(report.prefill_row_count));
  decode_tokens_.Increment(static_cast<double>(report.decode_row_count));
  drafted_tokens_.Increment(static_cast<double>(report.drafted_row_count));
  accepted_tokens_.Increment(static_cast<double>(report.accepted_row_count));
  preemptions_.Increment(static_cast<double>(report.preempted_count));
  prefix_queries_.Increment(static_cast<double>(report.prefixes.query_count));
  prefix_hits_.Increment(static_cast<double>(report.prefixes.hit_count));
  prefix_evictions_.Increment(static_cast<double>(report.prefixes.evicted_page_count));
}

void EngineMetrics::OnFinished(const SequenceResult& result) {
  const std::string reason = result.status.ok() ? ReasonName(result) : "";
  finished_
      .Add({{"code", absl::StatusCodeToString(result.status.code())}, {"finish_reason", reason}})
      .Increment();
  if (!result.status.ok()) return;
  prompt_tokens_.Observe(static_cast<double>(result.prompt_token_count));
  generated_tokens_.Observe(static_cast<double>(result.generated_token_count));
  queue_seconds_.Observe(absl::ToDoubleSeconds(result.queue_time));
  prefill_seconds_.Observe(absl::ToDoubleSeconds(result.prefill_time));
  decode_seconds_.Observe(absl::ToDoubleSeconds(result.decode_time));
  if (result.generated_token_count > 0) {
    time_to_first_token_seconds_.Observe(
        absl::ToDoubleSeconds(result.queue_time + result.prefill_time));
  }
  if (result.generated_token_count > 1) {
    time_per_output_token_seconds_.Observe(absl::ToDoubleSeconds(result.decode_time) /
                                           static_cast<double>(result.generated_token_count - 1));
  }
}

void EngineMetrics::AddGauges(const Engine& engine, const MemoryBudget& request_memory) {
  const auto add = [&](const char* name, const char* help, auto value) {
    registry_.AddGaugeFunction(
        name, help, [&engine, value] { return static_cast<double>(value(engine.stats())); });
  };
  add("phyllo_num_requests_running", "Sequences in the batch.",
      [](const EngineStats& stats) { return stats.running_count; });
  add("phyllo_num_requests_waiting", "Sequences waiting for a place in the batch.",
      [](const EngineStats& stats) { return stats.waiting_count; });
  add("phyllo_outstanding_prefill_tokens", "Prompt tokens still to be computed.",
      [](const EngineStats& stats) { return stats.outstanding_prefill_tokens; });
  add("phyllo_prefill_budget_rows",
      "Prompt tokens that the last step might have had, by the measured cost of steps.",
      [](const EngineStats& stats) { return stats.prefill_row_budget; });
  add("phyllo_kv_pages_used", "KV pages in use.",
      [](const EngineStats& stats) { return stats.pages.used_count; });
  add("phyllo_kv_pages_total", "KV pages.",
      [](const EngineStats& stats) { return stats.pages.total_count; });
  add("phyllo_prefix_cache_pages", "KV pages remembered by the prefix cache, used or free.",
      [](const EngineStats& stats) { return stats.cached_page_count; });
  add("phyllo_kv_cache_usage_ratio",
      "KV pages in use, of all: 0 to 1; of the group of layers with the smallest part free.",
      [](const EngineStats& stats) { return stats.pages.ratio; });
  add("phyllo_not_finite_sequences", "Sequences ended because of logits that are not finite.",
      [](const EngineStats& stats) { return stats.not_finite_count; });
  registry_.AddGaugeFunction(
      "phyllo_request_memory_bytes",
      "Memory of requests, streams and unread answers, of which --max_request_bytes is the most.",
      [&request_memory] { return static_cast<double>(request_memory.used_bytes()); });
}

}  // namespace phyllo
