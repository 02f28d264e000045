// What `phyllo bench` runs in its own process.
#ifndef PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_OPTIONS_H_
#define PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace phyllo {

struct ModelBenchOptions {
  std::string model;               // a model folder or GGUF file
  std::string precision = "auto";  // as the transformer's --precision
  int threads = 0;                 // 0: physical cores within the CPU set and quota

  std::vector<int64_t> prompt_tokens = {512};  // a prefill test of each; {0}: none
  std::vector<int64_t> new_tokens = {128};     // a decode test of each with each batch; {0}: none
  std::vector<int64_t> batches = {1};          // sequences decoded together
  int64_t depth = 0;                           // tokens in the KV cache before a decode begins
  int64_t chunk = 512;                         // most rows of a step of a prefill
  int repetitions = 3;

  // Runs the matrix products of each step by themselves as well. Takes the weights' memory twice.
  bool bound = false;
};

// INVALID_ARGUMENT that names the option, its value and its range.
absl::Status CheckModelBenchOptions(const ModelBenchOptions& options);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_OPTIONS_H_
