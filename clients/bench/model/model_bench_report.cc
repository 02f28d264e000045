#include "clients/bench/model/model_bench_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/bench/sample_summary.h"

namespace phyllo {
namespace {

// Of repetition by repetition, in percent.
double ShareOfBound(const ModelBenchTest& test) {
  std::vector<double> shares;
  for (size_t i = 0; i < test.tokens_per_second.size(); ++i)
    shares.push_back(100 * test.tokens_per_second[i] / test.bound_tokens_per_second[i]);
  return MedianOf(std::move(shares));
}

nlohmann::ordered_json RatesToJson(const std::vector<double>& rates) {
  return {{"median", MedianOf(rates)},
          {"min", *std::min_element(rates.begin(), rates.end())},
          {"max", *std::max_element(rates.begin(), rates.end())},
          {"values", rates}};
}

}  // namespace

std::string FormatModelBench(const ModelBenchOptions& options, const ModelBenchResult& result) {
  std::string text = absl::StrFormat(
      "%s, %s, %d threads, %.0f MB of weights, loaded in %.2f s\n\n%-10s%8s%8s%14s%12s%12s%12s\n",
      result.precision, result.instruction_set, result.threads,
      static_cast<double>(result.weight_bytes) / 1e6, result.load_seconds, "test", "tokens",
      "batch", "tokens/s", "least", "greatest", options.bound ? "of bound" : "");
  for (const ModelBenchTest& test : result.tests) {
    const SampleSummary summary = Summarize(test.tokens_per_second);
    absl::StrAppend(&text,
                    absl::StrFormat("%-10s%8d%8d%14.1f%12.1f%12.1f",
                                    test.is_prefill ? "prefill" : "decode", test.tokens, test.batch,
                                    MedianOf(test.tokens_per_second), summary.min, summary.max));
    if (!test.bound_tokens_per_second.empty())
      absl::StrAppend(&text, absl::StrFormat("%10.0f %%", ShareOfBound(test)));
    absl::StrAppend(&text, "\n");
  }
  return text;
}

nlohmann::ordered_json ModelBenchToJson(const ModelBenchOptions& options,
                                        const ModelBenchResult& result) {
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  for (const ModelBenchTest& test : result.tests) {
    nlohmann::ordered_json object = {
        {"kind", test.is_prefill ? "prefill" : "decode"},
        {"tokens", test.tokens},
        {"batch", test.batch},
        {"depth", test.is_prefill ? 0 : options.depth},
        {"tokens_per_second", RatesToJson(test.tokens_per_second)},
    };
    if (!test.bound_tokens_per_second.empty()) {
      object["bound_tokens_per_second"] = RatesToJson(test.bound_tokens_per_second);
      object["percent_of_bound"] = ShareOfBound(test);
    }
    tests.push_back(std::move(object));
  }
  return {{"mode", "in_process"},
          {"precision", result.precision},
          {"instruction_set", result.instruction_set},
          {"threads", result.threads},
          {"load_seconds", result.load_seconds},
          {"weight_bytes", result.weight_bytes},
          {"chunk", options.chunk},
          {"tests", std::move(tests)}};
}

}  // namespace phyllo
