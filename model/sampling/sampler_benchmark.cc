// Time of one token: bazel run -c opt //model/sampling:sampler_benchmark
#include <cstdint>
#include <random>
#include <vector>

#include "benchmark/benchmark.h"
#include "model/sampling/sampler.h"

namespace phyllo {
namespace {

void Run(benchmark::State& state, const SamplingParameters& parameters) {
  const int64_t vocab_size = state.range(0);
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> logits(vocab_size);
  for (float& logit : logits) logit = normal(generator);
  TokenHistory history;
  for (int32_t id = 0; id < 500; ++id)
    history.AddGenerated(id * 7 % static_cast<int32_t>(vocab_size));
  Sampler sampler(vocab_size);
  int64_t position = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(sampler.Sample(logits, history, parameters, position++));
}

void BM_Greedy(benchmark::State& state) { Run(state, {.temperature = 0.0f}); }
void BM_Temperature(benchmark::State& state) { Run(state, {}); }
void BM_TopK(benchmark::State& state) {
  Run(state, {.temperature = 0.7f, .top_k = 50, .top_p = 0.9f});
}
void BM_TopP(benchmark::State& state) { Run(state, {.top_p = 0.95f}); }
void BM_PenaltiesAndLogprobs(benchmark::State& state) {
  Run(state, {.temperature = 0.7f, .top_k = 50, .repetition_penalty = 1.1f, .top_logprobs = 20});
}

BENCHMARK(BM_Greedy)->Arg(6400)->Arg(151936)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Temperature)->Arg(6400)->Arg(151936)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_TopK)->Arg(6400)->Arg(151936)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_TopP)->Arg(6400)->Arg(151936)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PenaltiesAndLogprobs)->Arg(6400)->Arg(151936)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace phyllo

BENCHMARK_MAIN();
