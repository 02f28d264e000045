// PackedLinear at the shapes of Qwen2.5-0.5B and MiniMind2-small. Enough copies of a layer are
// cycled through that weights come from memory, as they do in a model (RotateBytes). Reports weight
// bytes read and arithmetic per second.
//   bazel run //model/onednn:packed_linear_benchmark -- --benchmark_filter=qwen_down/bf16
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "model/base/check.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/packed_linear.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/dtype.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {
namespace {

struct Shape {
  const char* name;
  int64_t k, n;
  int64_t rotate_bytes;  // how many bytes of weights are cycled through
};

constexpr Shape kShapes[] = {
    {"qwen_qkv", 896, 1152, 512 << 20},        {"qwen_o", 896, 896, 512 << 20},
    {"qwen_gate_up", 896, 9728, 512 << 20},    {"qwen_down", 4864, 896, 512 << 20},
    {"qwen_lm_head", 896, 151936, 512 << 20},  {"minimind_qkv", 512, 768, 50 << 20},
    {"minimind_gate_up", 512, 2816, 50 << 20}, {"minimind_down", 1408, 512, 50 << 20},
};

// Layers of one shape and precision; packing them takes longer than multiplying.
class LayerStack {
 public:
  LayerStack(const Shape& shape, Precision precision) {
    const PackedLinear::Spec spec = {
        .in_features = shape.k, .out_features = shape.n, .precision = precision};
    const std::vector<float> w(static_cast<size_t>(shape.k * shape.n), 0.01f);
    int64_t bytes = 0;
    while (layers_.empty() || bytes < shape.rotate_bytes) {
      layers_.push_back(PackedLinear::Create(spec, kernels_, arena_).value());
      PHYLLO_CHECK(layers_.back()
                       .PackRows(0, {.data = w.data(),
                                     .dtype = DType::kF32,
                                     .out_features = shape.n,
                                     .in_features = shape.k})
                       .ok());
      bytes += PackedLinear::PackedBytes(spec);
    }
  }

  const PackedLinear& operator[](size_t i) const { return layers_[i % layers_.size()]; }

 private:
  HugePageArena arena_;
  LinearKernels kernels_;
  std::vector<PackedLinear> layers_;
};

void RunLinear(benchmark::State& state, const Shape& shape, const LayerStack& layers, int64_t m,
               int threads) {
  HugePageArena arena;
  const std::unique_ptr<ThreadPool> pool =
      ThreadPool::Create({.num_threads = threads, .pin = true}).value();
  LinearScratch scratch = LinearScratch::Create(threads, arena).value();
  const Precision input = InputPrecision(layers[0].precision());
  const LinearInput x{input, arena.Allocate(LinearInput::BytesFor(m, shape.k, input)).value(), m,
                      shape.k};
  const MatrixView<float> y{arena.AllocateSpan<float>(m * shape.n).value().data(), m, shape.n,
                            shape.n};
  layers[0].Forward(x, y, *pool, scratch);  // touches y's memory
  size_t next = 0;
  for (auto _ : state) layers[next++].Forward(x, y, *pool, scratch);
  const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["weights"] = benchmark::Counter(
      static_cast<double>(PackedLinear::PackedBytes(
          {.in_features = shape.k, .out_features = shape.n, .precision = layers[0].precision()})),
      per_second, benchmark::Counter::kIs1000);
  state.counters["op"] = benchmark::Counter(2.0 * static_cast<double>(m * shape.k * shape.n),
                                            per_second, benchmark::Counter::kIs1000);
}

struct NamedPrecision {
  const char* name;
  Precision precision;
};
constexpr NamedPrecision kPrecisions[] = {{"f32", Precision::kF32},
                                          {"bf16", Precision::kBf16},
                                          {"int8", Precision::kInt8},
                                          {"int4", Precision::kInt4}};

// The stack made last: benchmarks of one follow each other.
struct CurrentStack {
  const Shape* shape = nullptr;
  Precision precision = Precision::kF32;
  std::unique_ptr<LayerStack> layers;

  const LayerStack& Get(const Shape& wanted_shape, Precision wanted_precision) {
    if (shape != &wanted_shape || precision != wanted_precision) {
      layers.reset();
      layers = std::make_unique<LayerStack>(wanted_shape, wanted_precision);
      shape = &wanted_shape;
      precision = wanted_precision;
    }
    return *layers;
  }
};

void RegisterAll(int threads, CurrentStack& stack) {
  for (const Shape& shape : kShapes) {
    for (const auto& [precision_name, precision] : kPrecisions) {
      for (int64_t m : {1, 2, 4, 8, 16, 32, 128, 512}) {
        if (m > 32 && shape.n > 100000) continue;  // the head is computed for sampled rows only
        const std::string name =
            absl::StrCat(shape.name, "/", precision_name, "/m:", m, "/threads:", threads);
        benchmark::RegisterBenchmark(
            name.c_str(),
            [m, threads, &stack, &shape, precision = precision](benchmark::State& state) {
              RunLinear(state, shape, stack.Get(shape, precision), m, threads);
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
  phyllo::CurrentStack stack;
  phyllo::RegisterAll(1, stack);
  if (const auto cpus = static_cast<int>(std::thread::hardware_concurrency()); cpus > 1)
    phyllo::RegisterAll(cpus, stack);
  for (const auto& [name, precision] : phyllo::kPrecisions)
    benchmark::AddCustomContext(name, phyllo::ImplementationName(precision));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
