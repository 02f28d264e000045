// How often drafts came true: what is expected of the next one.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_ACCEPTANCE_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_ACCEPTANCE_H_

#include <algorithm>
#include <array>
#include <cstdint>

namespace phyllo {

// Estimates the probability that a token that is predicted from a match of so many tokens is the
// one that is sampled, for short and for long matches apart: an exponentially weighted mean of what
// happened in this sequence, which begins at what is common. Thread-compatible.
class Acceptance {
 public:
  // Requires match_length >= 0. 0 stands for a token of a draft model.
  double Expect(int64_t match_length) const { return means_[ClassOf(match_length)]; }
  // Nothing was predicted: what was seen is slowly forgotten, so that what was given up is tried
  // again some day.
  void Fade(int64_t match_length) {
    const size_t i = ClassOf(match_length);
    means_[i] += kFading * (kBegin[i] - means_[i]);
  }
  void Observe(int64_t match_length, bool accepted) {
    double& mean = means_[ClassOf(match_length)];
    mean += kWeight * ((accepted ? 1.0 : 0.0) - mean);
  }

 private:
  static constexpr double kWeight = 1.0 / 12;
  static constexpr double kFading = 1.0 / 512;
  // The longest matches of all classes but the last.
  static constexpr std::array<int64_t, 5> kLongest = {0, 2, 3, 5, 9};

  static size_t ClassOf(int64_t match_length) {
    return std::lower_bound(kLongest.begin(), kLongest.end(), match_length) - kLongest.begin();
  }

  static constexpr std::array<double, kLongest.size() + 1> kBegin = {0.6,  0.25, 0.4,
                                                                     0.55, 0.7,  0.85};

  std::array<double, kLongest.size() + 1> means_ = kBegin;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_ACCEPTANCE_H_
