// Attend at the shapes of Qwen2.5-0.5B, MiniMind2-small and Llama-3.2-1B: decode steps (one query
// row a sequence) and prefill. Reports the bytes of K and V that a step has to read and, for
// prefill, arithmetic per second.
//   bazel run //model/ops:attention_benchmark -- --benchmark_filter=decode
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "model/ops/attention.h"
#include "model/ops/simd_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {
namespace {

struct Shape {
  const char* name;
  int64_t h, kv, hd;
};

constexpr Shape kShapes[] = {
    {"qwen_0.5b", 14, 2, 64}, {"minimind", 8, 2, 64}, {"llama_1b", 32, 8, 64}, {"mha", 12, 12, 64}};

// `sequences` sequences, each with the last `rows` of `context` positions as queries.
void RunAttend(benchmark::State& state, const Shape& shape, Precision precision, int64_t sequences,
               int64_t rows, int64_t context, int threads) {
  HugePageArena arena;
  const std::unique_ptr<ThreadPool> pool =
      ThreadPool::Create({.num_threads = threads, .pin = true}).value();
  KvLayer layer;
  layer.layout = {.num_key_value_heads = shape.kv,
                  .head_dim = shape.hd,
                  .page_size = 64,
                  .precision = precision};
  layer.page_stride = layer.layout.page_bytes();
  const int64_t pages_each = (context + 63) / 64;
  layer.base = arena.Allocate(sequences * pages_each * layer.page_stride).value();
  AttentionScratch scratch =
      AttentionScratch::Create(layer.layout, threads, sequences, arena).value();
  std::vector<int32_t> pages(static_cast<size_t>(sequences * pages_each));
  std::iota(pages.begin(), pages.end(), 0);
  std::vector<SequenceSlice> slices;
  for (int64_t s = 0; s < sequences; ++s) {
    slices.push_back({s * rows, rows, context - rows,
                      absl::MakeConstSpan(pages).subspan(static_cast<size_t>(s * pages_each),
                                                         static_cast<size_t>(pages_each))});
  }
  const int64_t m = sequences * rows, cols = shape.h * shape.hd;
  const MatrixView<float> q{arena.AllocateSpan<float>(m * cols).value().data(), m, cols, cols};
  const LinearInput out{precision,
                        arena.Allocate(LinearInput::BytesFor(m, cols, precision)).value(), m, cols};
  const SimdKernels kernels = SimdKernels::ForThisCpu();
  for (auto _ : state)
    Attend(kernels, {.num_attention_heads = shape.h, .scale = 0.125f}, q, slices, layer, out, *pool,
           scratch);
  const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
  const double visible =
      static_cast<double>(rows) *
      (static_cast<double>(context) - 0.5 * static_cast<double>(rows - 1));  // (row, key) pairs
  state.counters["kv"] =
      benchmark::Counter(static_cast<double>(sequences * pages_each * layer.page_stride),
                         per_second, benchmark::Counter::kIs1000);
  state.counters["flop"] =
      benchmark::Counter(4.0 * static_cast<double>(sequences * shape.h * shape.hd) * visible,
                         per_second, benchmark::Counter::kIs1000);
}

void RegisterAll(int threads) {
  struct Case {
    const char* name;
    int64_t sequences, rows, context;
  };
  constexpr const char* kNames[] = {"f32", "bf16", "int8"};  // by Precision
  constexpr Case kCases[] = {{"decode", 1, 1, 1024},   {"decode", 1, 1, 8192},
                             {"decode", 1, 1, 32768},  {"decode", 32, 1, 1024},
                             {"prefill", 1, 512, 512}, {"prefill", 1, 512, 8192}};
  for (const Shape& shape : kShapes) {
    for (Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
      for (const Case& c : kCases) {
        const std::string name =
            absl::StrCat(c.name, "/", shape.name, "/", kNames[static_cast<size_t>(precision)],
                         "/sequences:", c.sequences, "/rows:", c.rows, "/context:", c.context,
                         "/threads:", threads);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [=](benchmark::State& state) {
                                       RunAttend(state, shape, precision, c.sequences, c.rows,
                                                 c.context, threads);
                                     })
            ->MeasureProcessCPUTime()
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  phyllo::RegisterAll(1);
  if (const auto cpus = static_cast<int>(std::thread::hardware_concurrency()); cpus > 1)
    phyllo::RegisterAll(cpus);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
