// The speed of the model library alone, without services: prefill of a prompt and decode of a
// batch.
#ifndef PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_H_
#define PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/bench/model/model_bench_options.h"

namespace phyllo {

// One measured thing, a value a repetition.
struct ModelBenchTest {
  bool is_prefill = false;
  int64_t tokens = 0;  // of the prompt, or of each sequence's answer
  int64_t batch = 1;   // sequences decoded together
  std::vector<double> tokens_per_second = {};
  // Of the matrix products alone; empty if not asked for.
  std::vector<double> bound_tokens_per_second = {};
};

struct ModelBenchResult {
  std::string precision;
  std::string instruction_set;
  int threads = 0;
  double load_seconds = 0;  // of reading and packing the weights once
  int64_t weight_bytes = 0;
  std::vector<ModelBenchTest> tests;  // those that were finished
};

struct ModelBenchRun {
  const std::atomic<bool>* interrupted = nullptr;    // ends the measuring; may be null
  std::function<void(const std::string&)> observer;  // hears what is being done; may be empty
};

// Loads the model and runs the tests one by one, each once before it counts. Token ids are random
// by a fixed seed; of the logits the largest is kept, as for greedy answers. Errors: those of
// reading the folder and of Transformer::Load; INVALID_ARGUMENT if a sequence is longer than the
// model's positions.
absl::StatusOr<ModelBenchResult> RunModelBench(const ModelBenchOptions& options,
                                               const ModelBenchRun& run);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_H_
