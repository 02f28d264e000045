// What benchmarks of the engine share: their main, and the clients of an engine that they step by
// hand.
//   BenchmarkStreams streams(model, *engine);
//   PHYLLO_RETURN_IF_ERROR(streams.Add(request));
//   while (streams.alive_count() > 0) { engine->RunOneStep(); ... streams.Serve() ... }
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_BENCHMARK_BENCHMARK_STREAMS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_BENCHMARK_BENCHMARK_STREAMS_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// A monotonic clock.
absl::Time BenchmarkNow();

// All of main: sets the usage, reads the flags and calls `run`, whose error it prints. Returns
// what main returns.
int RunBenchmark(int argc, char** argv, absl::string_view usage,
                 absl::FunctionRef<absl::Status()> run);

// The value below which the part `quantile`, in [0, 1], of the values lies; 0 of none.
double Quantile(std::vector<double> values, double quantile);

// Submits, answers needs at once, and keeps the results. Thread-compatible.
class BenchmarkStreams {
 public:
  // Borrows both.
  BenchmarkStreams(StepModel& model, Engine& engine) : model_(model), engine_(engine) {}

  // The errors of Engine::Submit.
  absl::Status Add(const SequenceRequest& request);
  // Takes the news of all. The errors of Embed and of the sequences.
  absl::Status Serve();

  int64_t alive_count() const { return static_cast<int64_t>(streams_.size()); }
  // Of those that have ended, in the order of their ends.
  const std::vector<SequenceResult>& results() const { return results_; }

 private:
  struct Stream {
    Engine::Submitted submitted;
    std::vector<int32_t> prompt;
  };
  absl::Status ServeStream(const Stream& stream);

  StepModel& model_;
  Engine& engine_;
  std::vector<Stream> streams_;
  std::vector<SequenceResult> results_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_BENCHMARK_BENCHMARK_STREAMS_H_
