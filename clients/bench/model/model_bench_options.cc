#include "clients/bench/model/model_bench_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxTokens = 1 << 20;
constexpr int64_t kMaxRows = 1 << 16;
constexpr int64_t kMaxBatch = 4096;  // Each takes a page of the KV cache.

absl::Status CheckRange(const char* option, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " is ", value, ", must be in [", low, ", ", high, "]"));
}

absl::Status CheckList(const char* option, const std::vector<int64_t>& values, int64_t low,
                       int64_t high) {
  if (values.empty())
    return absl::InvalidArgumentError(absl::StrCat(option, " is empty, must have a number"));
  for (const int64_t value : values) PHYLLO_RETURN_IF_ERROR(CheckRange(option, value, low, high));
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckModelBenchOptions(const ModelBenchOptions& options) {
  PHYLLO_RETURN_IF_ERROR(CheckRange("--threads", options.threads, 0, 1024));
  PHYLLO_RETURN_IF_ERROR(CheckList("-p", options.prompt_tokens, 0, kMaxTokens));
  PHYLLO_RETURN_IF_ERROR(CheckList("-n", options.new_tokens, 0, kMaxTokens));
  const auto is_zero = [](int64_t value) { return value == 0; };
  if (std::all_of(options.prompt_tokens.begin(), options.prompt_tokens.end(), is_zero) &&
      std::all_of(options.new_tokens.begin(), options.new_tokens.end(), is_zero)) {
    return absl::InvalidArgumentError("-p and -n are 0: there is nothing to measure");
  }
  PHYLLO_RETURN_IF_ERROR(CheckList("-b", options.batches, 1, kMaxBatch));
  PHYLLO_RETURN_IF_ERROR(CheckRange("--depth", options.depth, 0, kMaxTokens));
  PHYLLO_RETURN_IF_ERROR(CheckRange("--chunk", options.chunk, 1, kMaxRows));
  return CheckRange("-r", options.repetitions, 1, 1000);
}

}  // namespace phyllo
