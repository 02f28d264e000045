// Random numbers that are the same on every machine and with every C++ library, unlike those of the
// standard distributions.
#ifndef PHYLLO_CLIENTS_BENCH_RANDOM_NUMBERS_H_
#define PHYLLO_CLIENTS_BENCH_RANDOM_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <random>

namespace phyllo {

// One sequence of random numbers. Copyable: a copy goes on by itself. Thread-compatible.
class RandomNumbers {
 public:
  // Sequences of one seed and different `stream`s do not depend on each other.
  explicit RandomNumbers(uint64_t seed, uint64_t stream = 0) {
    std::seed_seq words = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                           static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
    engine_.seed(words);
  }

  // In [0, 1).
  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // In [low, high]. Requires low <= high. The bias is below 2^-11 for ranges up to 2^53.
  int64_t UniformInt(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Uniform() * static_cast<double>(high - low + 1));
  }
  // With mean 1.
  double Exponential() { return -std::log(1.0 - Uniform()); }
  // With mean 0 and standard deviation 1 (Box and Muller, 1958).
  double Normal() {
    const double radius = std::sqrt(2.0 * Exponential());
    return radius * std::cos(6.283185307179586 * Uniform());
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_RANDOM_NUMBERS_H_
