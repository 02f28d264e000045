#include "clients/bench/load_options.h"

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr absl::Duration kDefaultDuration = absl::Seconds(30);

absl::Status CheckRange(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, ", must be in [", low, ", ", high, "]"));
}

// The bench decides these itself.
absl::Status CheckRequest(const gateway::v1::GenerateRequest& request) {
  if (request.stopping().has_max_new_tokens())
    return absl::InvalidArgumentError("--max-new-tokens: use --output-tokens");
  if (request.choice_count() > 1 || request.best_of() > 1)
    return absl::InvalidArgumentError("--n and --best-of: bench measures one answer a request");
  return absl::OkStatus();
}

}  // namespace

absl::Status FinishLoadOptions(LoadOptions& options) {
  PHYLLO_RETURN_IF_ERROR(CheckRange("--concurrency", options.concurrency,
                                    options.concurrency == 0 ? 0 : 1,
                                    LoadOptions::kMaxConcurrency));
  PHYLLO_RETURN_IF_ERROR(CheckRange("--num-requests", options.num_requests, 0, int64_t{1} << 32));
  PHYLLO_RETURN_IF_ERROR(CheckRange("--turns", options.turns, 1, LoadOptions::kMaxTurns));
  PHYLLO_RETURN_IF_ERROR(CheckRange("--shared-prefix-tokens", options.shared_prefix_tokens, 0,
                                    LengthDistribution::kMaxLength));
  if (!(options.request_rate >= 0 && options.request_rate <= LoadOptions::kMaxRequestRate)) {
    return absl::InvalidArgumentError(absl::StrCat("--request-rate is ", options.request_rate,
                                                   ", must be in [0, ",
                                                   LoadOptions::kMaxRequestRate, "] a second"));
  }
  PHYLLO_RETURN_IF_ERROR(CheckRequest(options.request));
  if (options.concurrency == 0)
    options.concurrency = options.request_rate > 0 ? LoadOptions::kMaxConcurrency : 1;
  if (options.num_requests == 0 && options.duration == absl::InfiniteDuration())
    options.duration = kDefaultDuration;
  return absl::OkStatus();
}

}  // namespace phyllo
