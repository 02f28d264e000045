// Kernels over one row, compiled once per instruction set (see simd_vector_v3.h).
//
// Invariants: a sum over a row goes into kAccumulators vectors in turn, chunk i of sixteen elements
// to vector i % kAccumulators, which are then added pairwise and reduced by one tree; lanes behind
// the end of the row add +0. -ffp-contract=off: only MulAdd and NegMulAdd fuse.
#include <cstdint>

#include "model/ops/simd_kernel_table.h"
#include "model/ops/simd_math.h"

namespace phyllo {
namespace PHYLLO_SIMD_NAMESPACE {
namespace {

constexpr int64_t kLanes = 16;
constexpr int kAccumulators = 4;
constexpr float kInfinity = __builtin_inff();

// Calls body(i, count) for chunks [i, i + count) of [0, n): count is 16, less in the last.
template <typename Body>
inline void ForEachChunk(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(i, n - i);
}

template <typename T>
inline Vec LoadChunk(const T* p, int64_t count) {
  return count == kLanes ? Load(p) : LoadPrefix(p, count);
}

template <typename T>
inline void StoreChunk(T* p, Vec a, int64_t count) {
  if (count == kLanes) {
    Store(p, a);
  } else {
    StorePrefix(p, a, count);
  }
}

// The sum over chunks of accumulate(i, count, sum so far).
template <typename Accumulate>
inline float SumChunks(int64_t n, Accumulate accumulate) {
  Vec sums[kAccumulators] = {Zero(), Zero(), Zero(), Zero()};
  int next = 0;
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    sums[next] = accumulate(i, count, sums[next]);
    next = (next + 1) % kAccumulators;
  });
  return ReduceSum(Add(Add(sums[0], sums[1]), Add(sums[2], sums[3])));
}

inline float MaxOf(const float* x, int64_t n) {
  Vec max = Set(-kInfinity);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    max = Max(max, SelectPrefix(LoadChunk(x + i, count), Set(-kInfinity), count));
  });
  return ReduceMax(max);
}

// The scale of a row of bytes: its largest magnitude / 127. 0, as of a row of zeros, where that
// would be subnormal, because its reciprocal could be infinite; NaN if a value is not finite.
inline float ScaleOf(Vec largest) {
  const float max = AnyNan(largest) ? kInfinity : ReduceMax(largest);
  if (!(max < kInfinity)) return __builtin_nanf("");
  return max < 0x1p-119f ? 0.0f : max / 127.0f;
}

// Calls value(i, count), the elements [i, i + count) of a row, for the whole row of n, writes them
// as T and returns the row's scale. Lanes behind the end of the row may hold anything. Into bytes
// each element is asked for twice.
template <typename T, typename Value>
inline float WriteRow(int64_t n, void* out, Value value) {
  T* const row = static_cast<T*>(out);
  float scale = 1.0f;
  Vec factor = Set(1.0f);
  if constexpr (sizeof(T) == 1) {
    Vec largest = Zero();
    ForEachChunk(n, [&](int64_t i, int64_t count) {
      largest = MaxMagnitude(largest, SelectPrefix(value(i, count), Zero(), count));
    });
    scale = ScaleOf(largest);
    factor = Set(scale > 0.0f ? 1.0f / scale : 0.0f);
  }
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    Vec a = value(i, count);
    if constexpr (sizeof(T) == 1) a = Mul(a, factor);
    StoreChunk(row + i, a, count);
  });
  return scale;
}

template <typename T>
float RmsNorm(const float* x, const float* weight, float eps, int64_t d, void* out) {
  const float sum = SumChunks(d, [&](int64_t i, int64_t count, Vec so_far) {
    const Vec a = LoadChunk(x + i, count);
    return MulAdd(a, a, so_far);
  });
  const Vec scale = Set(1.0f / __builtin_sqrtf(sum / static_cast<float>(d) + eps));
  return WriteRow<T>(d, out, [&](int64_t i, int64_t count) {
    return Mul(Mul(LoadChunk(x + i, count), scale), LoadChunk(weight + i, count));
  });
}

template <typename T>
float LayerNorm(const float* x, const float* weight, const float* bias, float eps, int64_t d,
                void* out) {
  const float sum = SumChunks(d, [&](int64_t i, int64_t count, Vec so_far) {
    return Add(so_far, LoadChunk(x + i, count));
  });
  const Vec mean = Set(sum / static_cast<float>(d));
  const float squares = SumChunks(d, [&](int64_t i, int64_t count, Vec so_far) {
    const Vec a = SelectPrefix(Sub(LoadChunk(x + i, count), mean), Zero(), count);
    return MulAdd(a, a, so_far);
  });
  const Vec scale = Set(1.0f / __builtin_sqrtf(squares / static_cast<float>(d) + eps));
  return WriteRow<T>(d, out, [&](int64_t i, int64_t count) {
    const Vec normal = Mul(Sub(LoadChunk(x + i, count), mean), scale);
    const Vec shift = bias == nullptr ? Zero() : LoadChunk(bias + i, count);
    return MulAdd(normal, LoadChunk(weight + i, count), shift);
  });
}

void Rope(float* x, int64_t heads, int64_t head_dim, int64_t half, const float* cos,
          const float* sin) {
  for (int64_t head = 0; head < heads; ++head) {
    float* const first = x + head * head_dim;
    float* const second = first + half;
    ForEachChunk(half, [&](int64_t i, int64_t count) {
      const Vec a = LoadChunk(first + i, count);
      const Vec b = LoadChunk(second + i, count);
      const Vec c = LoadChunk(cos + i, count);
      const Vec s = LoadChunk(sin + i, count);
      StoreChunk(first + i, NegMulAdd(b, s, Mul(a, c)), count);
      StoreChunk(second + i, MulAdd(a, s, Mul(b, c)), count);
    });
  }
}

void RopeInterleaved(float* x, int64_t heads, int64_t head_dim, int64_t half, const float* cos,
                     const float* sin) {
  for (int64_t head = 0; head < heads; ++head) {
    float* const pairs = x + head * head_dim;
    for (int64_t i = 0; i < half; ++i) {
      const float a = pairs[2 * i];
      const float b = pairs[2 * i + 1];
      pairs[2 * i] = __builtin_fmaf(-b, sin[i], a * cos[i]);
      pairs[2 * i + 1] = __builtin_fmaf(a, sin[i], b * cos[i]);
    }
  }
}

struct Silu {
  static Vec Apply(Vec x) { return Mul(x, Sigmoid(x)); }
};
struct Gelu {
  static Vec Apply(Vec x) { return Mul(x, NormalDistribution(x)); }
};
// (1 + tanh u) / 2 is sigmoid(2 u).
struct GeluTanh {
  static Vec Apply(Vec x) {
    const Vec cube = MulAdd(Mul(Mul(x, x), x), Set(0.044715f), x);
    return Mul(x, Sigmoid(Mul(cube, Set(1.5957691216057308f))));
  }
};
struct Relu {
  static Vec Apply(Vec x) { return SelectLess(x, Zero(), Zero(), x); }
};

template <typename T>
float Round(const float* x, int64_t n, void* out) {
  return WriteRow<T>(n, out, [&](int64_t i, int64_t count) { return LoadChunk(x + i, count); });
}

template <typename Function, typename T>
float Activate(float* x, const float* up, int64_t n, void* out) {
  return WriteRow<T>(n, out, [&](int64_t i, int64_t count) {
    const Vec y = Function::Apply(LoadChunk(x + i, count));
    return up == nullptr ? y : Mul(y, LoadChunk(up + i, count));
  });
}

// The results wait in x for the scale of the row, which is cheaper than to compute them twice.
template <typename Function>
float ActivateToBytes(float* x, const float* up, int64_t n, void* out) {
  Activate<Function, float>(x, up, n, x);
  return Round<uint8_t>(x, n, out);
}

void AddScaled(const float* x, float factor, int64_t n, float* y) {
  const Vec f = Set(factor);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    const Vec term = Mul(f, LoadChunk(x + i, count));
    StoreChunk(y + i, Add(LoadChunk(y + i, count), term), count);
  });
}

void SoftCapRow(const float* x, float divisor, float cap, int64_t n, float* out) {
  const Vec d = Set(divisor);
  const Vec c = Set(cap);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    const Vec quotient = Div(LoadChunk(x + i, count), d);
    StoreChunk(out + i, cap > 0.0f ? SoftCap(quotient, c) : quotient, count);
  });
}

void Softmax(const float* x, int64_t n, float* out) {
  const Vec max = Set(MaxOf(x, n));
  const float sum = SumChunks(n, [&](int64_t i, int64_t count, Vec so_far) {
    const Vec e = SelectPrefix(Exp(Sub(LoadChunk(x + i, count), max)), Zero(), count);
    StoreChunk(out + i, e, count);
    return Add(so_far, e);
  });
  const Vec divisor = Set(sum);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    StoreChunk(out + i, Div(LoadChunk(out + i, count), divisor), count);
  });
}

float LogSumExp(const float* x, int64_t n) {
  const float max = MaxOf(x, n);
  const Vec shift = Set(max);
  const float sum = SumChunks(n, [&](int64_t i, int64_t count, Vec so_far) {
    return Add(so_far, SelectPrefix(Exp(Sub(LoadChunk(x + i, count), shift)), Zero(), count));
  });
  // The C library's logf: one implementation for both instruction sets.
  return max + __builtin_logf(sum);
}

void Subtract(const float* x, float y, int64_t n, float* out) {
  const Vec b = Set(y);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    StoreChunk(out + i, Sub(LoadChunk(x + i, count), b), count);
  });
}

int64_t Argmax(const float* x, int64_t n) {
  bool nan = false;
  ForEachChunk(n, [&](int64_t i, int64_t count) { nan = AnyNan(LoadChunk(x + i, count)) || nan; });
  if (nan) return -1;
  const float max = MaxOf(x, n);
  int64_t index = 0;
  while (x[index] != max) ++index;
  return index;
}

void Scale(const float* x, float y, int64_t n, float* out) {
  const Vec b = Set(y);
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    StoreChunk(out + i, Mul(LoadChunk(x + i, count), b), count);
  });
}

void WeightedSum(const float* x, int64_t stride, const int32_t* rows, const float* weights,
                 int64_t count, int64_t n, bool add, float* y) {
  ForEachChunk(n, [&](int64_t i, int64_t chunk) {
    Vec sum = Zero();
    for (int64_t j = 0; j < count; ++j) {
      sum = MulAdd(LoadChunk(x + rows[j] * stride + i, chunk), Set(weights[j]), sum);
    }
    if (add) sum = Add(LoadChunk(y + i, chunk), sum);
    StoreChunk(y + i, sum, chunk);
  });
}

void ExpRow(const float* x, int64_t n, float* out) {
  ForEachChunk(n, [&](int64_t i, int64_t count) {
    StoreChunk(out + i, Exp(LoadChunk(x + i, count)), count);
  });
}

}  // namespace

const SimdKernelTable kTable = {
    .rms_norm = {RmsNorm<float>, RmsNorm<uint16_t>, RmsNorm<uint8_t>},
    .layer_norm = {LayerNorm<float>, LayerNorm<uint16_t>, LayerNorm<uint8_t>},
    .rope = {Rope, RopeInterleaved},
    .activate = {{Activate<Silu, float>, Activate<Silu, uint16_t>, ActivateToBytes<Silu>},
                 {Activate<Gelu, float>, Activate<Gelu, uint16_t>, ActivateToBytes<Gelu>},
                 {Activate<GeluTanh, float>, Activate<GeluTanh, uint16_t>,
                  ActivateToBytes<GeluTanh>},
                 {Activate<Relu, float>, Activate<Relu, uint16_t>, ActivateToBytes<Relu>}},
    .add_scaled = AddScaled,
    .soft_cap = SoftCapRow,
    .round = {Round<float>, Round<uint16_t>, Round<uint8_t>},
    .softmax = Softmax,
    .log_sum_exp = LogSumExp,
    .subtract = Subtract,
    .argmax = Argmax,
    .scale = Scale,
    .weighted_sum = WeightedSum,
    .exp = ExpRow,
    .attend_tile = {AttendTileF32, AttendTileBf16, AttendTileInt8},
};

}  // namespace PHYLLO_SIMD_NAMESPACE
}  // namespace phyllo
