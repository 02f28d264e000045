#include "services/transformer/engine/benchmark/benchmark_streams.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"

namespace phyllo {

absl::Time BenchmarkNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

int RunBenchmark(int argc, char** argv, absl::string_view usage,
                 absl::FunctionRef<absl::Status()> run) {
  absl::SetProgramUsageMessage(usage);
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}

double Quantile(std::vector<double> values, double quantile) {
  if (values.empty()) return 0.0;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(
                                          quantile * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

absl::Status BenchmarkStreams::Add(const SequenceRequest& request) {
  Stream stream = {.submitted = {}, .prompt = request.prompt_token_ids};
  PHYLLO_ASSIGN_OR_RETURN(stream.submitted, engine_.Submit(request, [](NewsUrgency) {}));
  streams_.push_back(std::move(stream));
  return absl::OkStatus();
}

absl::Status BenchmarkStreams::ServeStream(const Stream& stream) {
  SequenceNews news = stream.submitted.outbox->Take();
  for (const RowRange need : news.needs) {
    std::vector<float> rows(need.count * model_.sizes().hidden_size);
    PHYLLO_RETURN_IF_ERROR(
        model_.Embed(absl::MakeConstSpan(stream.prompt).subspan(need.first_position, need.count),
                     need.first_position, absl::MakeSpan(rows)));
    engine_.ProvideHiddenStates(stream.submitted.id, need.first_position, std::move(rows));
  }
  if (!news.result) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(news.result->status);
  results_.push_back(*std::move(news.result));
  return absl::OkStatus();
}

absl::Status BenchmarkStreams::Serve() {
  absl::Status status;
  std::erase_if(streams_, [&](const Stream& stream) {
    const size_t result_count = results_.size();
    if (status.ok()) status = ServeStream(stream);
    return results_.size() > result_count;
  });
  return status;
}

}  // namespace phyllo
