#include "clients/bench/length_distribution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr double kMaxSigma = 10;

absl::StatusOr<int64_t> ParseLength(absl::string_view text) {
  int64_t length = 0;
  if (!absl::SimpleAtoi(text, &length) || length < 1 || length > LengthDistribution::kMaxLength) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no number of tokens in [1, ",
                                                   LengthDistribution::kMaxLength, "]"));
  }
  return length;
}

absl::Status CheckCount(absl::string_view form, size_t wanted, size_t found) {
  if (wanted == found) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(form, " takes ", wanted, " numbers, there are ", found));
}

}  // namespace

LengthDistribution::LengthDistribution(int64_t length)
    : min_(length), max_(length), text_(absl::StrCat(length)) {}

absl::StatusOr<LengthDistribution> LengthDistribution::Parse(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.first.size() == text.size()) {
    PHYLLO_ASSIGN_OR_RETURN(const int64_t length, ParseLength(text));
    return LengthDistribution(length);
  }
  const std::vector<absl::string_view> numbers = absl::StrSplit(parts.second, ',');
  LengthDistribution result(1);
  result.text_ = std::string(text);
  if (parts.first == "uniform") {
    PHYLLO_RETURN_IF_ERROR(CheckCount("uniform:LOW,HIGH", 2, numbers.size()));
    PHYLLO_ASSIGN_OR_RETURN(result.min_, ParseLength(numbers[0]));
    PHYLLO_ASSIGN_OR_RETURN(result.max_, ParseLength(numbers[1]));
    if (result.min_ <= result.max_) return result;
    return absl::InvalidArgumentError(
        absl::StrCat("LOW ", result.min_, " is over HIGH ", result.max_));
  }
  if (parts.first == "lognormal") {
    PHYLLO_RETURN_IF_ERROR(CheckCount("lognormal:MEDIAN,SIGMA,MAX", 3, numbers.size()));
    result.kind_ = Kind::kLognormal;
    PHYLLO_ASSIGN_OR_RETURN(const int64_t median, ParseLength(numbers[0]));
    result.median_ = static_cast<double>(median);
    PHYLLO_ASSIGN_OR_RETURN(result.max_, ParseLength(numbers[2]));
    if (absl::SimpleAtod(numbers[1], &result.sigma_) && result.sigma_ >= 0 &&
        result.sigma_ <= kMaxSigma) {
      return result;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("SIGMA is \"", numbers[1], "\", must be in [0, ", kMaxSigma, "]"));
  }
  if (parts.first == "list") {
    result.kind_ = Kind::kList;
    for (const absl::string_view number : numbers) {
      PHYLLO_ASSIGN_OR_RETURN(const int64_t length, ParseLength(number));
      result.list_.push_back(length);
    }
    result.max_ = *std::max_element(result.list_.begin(), result.list_.end());
    return result;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is none of N, uniform:LOW,HIGH, lognormal:MEDIAN,SIGMA,MAX and list:A,B,..."));
}

int64_t LengthDistribution::Draw(RandomNumbers& random) const {
  switch (kind_) {
    case Kind::kUniform:
      return random.UniformInt(min_, max_);
    case Kind::kLognormal: {
      const double length = std::round(median_ * std::exp(sigma_ * random.Normal()));
      return static_cast<int64_t>(std::clamp(length, 1.0, static_cast<double>(max_)));
    }
    case Kind::kList:
      return list_[static_cast<size_t>(
          random.UniformInt(0, static_cast<int64_t>(list_.size()) - 1))];
  }
  return max_;
}

}  // namespace phyllo
