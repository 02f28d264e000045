// How long the prompts and answers of a load are.
#ifndef PHYLLO_CLIENTS_BENCH_LENGTH_DISTRIBUTION_H_
#define PHYLLO_CLIENTS_BENCH_LENGTH_DISTRIBUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/bench/random_numbers.h"

namespace phyllo {

// Numbers of tokens, each at least 1. Immutable.
class LengthDistribution {
 public:
  // Always `length`. Requires 1 <= length <= kMaxLength.
  explicit LengthDistribution(int64_t length);

  // Reads one of
  //   128                        always this many
  //   uniform:LOW,HIGH           every number from LOW to HIGH alike
  //   lognormal:MEDIAN,SIGMA,MAX its logarithm is normal with standard deviation SIGMA; cut at MAX
  //   list:64,128,256            each of these alike; one that comes twice is twice as likely
  // INVALID_ARGUMENT that names the part that is wrong and its range.
  static absl::StatusOr<LengthDistribution> Parse(absl::string_view text);

  int64_t Draw(RandomNumbers& random) const;
  // The largest number that can be drawn.
  int64_t max() const { return max_; }
  // What was parsed.
  const std::string& text() const { return text_; }

  static constexpr int64_t kMaxLength = int64_t{1} << 24;

 private:
  enum class Kind { kUniform, kLognormal, kList };

  Kind kind_ = Kind::kUniform;
  int64_t min_ = 1;            // of kUniform
  int64_t max_ = 1;            // of all
  double median_ = 1;          // of kLognormal
  double sigma_ = 0;           // of kLognormal
  std::vector<int64_t> list_;  // of kList
  std::string text_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_LENGTH_DISTRIBUTION_H_
