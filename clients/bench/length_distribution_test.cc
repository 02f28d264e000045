#include "clients/bench/length_distribution.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<int64_t> DrawMany(const std::string& text, int count = 20000) {
  const absl::StatusOr<LengthDistribution> lengths = LengthDistribution::Parse(text);
  PHYLLO_EXPECT_OK(lengths);
  RandomNumbers random(1);
  std::vector<int64_t> drawn;
  for (int i = 0; i < count; ++i) drawn.push_back(lengths->Draw(random));
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

std::string ErrorOf(const std::string& text) {
  return std::string(LengthDistribution::Parse(text).status().message());
}

TEST(LengthDistributionTest, NumberIsAlwaysDrawn) {
  const std::vector<int64_t> drawn = DrawMany("128", 10);
  EXPECT_EQ(drawn.front(), 128);
  EXPECT_EQ(drawn.back(), 128);
}

TEST(LengthDistributionTest, UniformReachesBothEndsAlike) {
  std::map<int64_t, int> counts;
  for (const int64_t length : DrawMany("uniform:3,6")) ++counts[length];
  // 5000 each; the standard deviation is 61.
  EXPECT_THAT(counts,
              ElementsAre(Pair(3, ::testing::AllOf(::testing::Gt(4700), ::testing::Lt(5300))),
                          Pair(4, ::testing::Gt(4700)), Pair(5, ::testing::Gt(4700)),
                          Pair(6, ::testing::Gt(4700))));
}

TEST(LengthDistributionTest, LognormalHasItsMedianAndSpread) {
  const std::vector<int64_t> drawn = DrawMany("lognormal:1000,0.5,1000000");
  // Quantiles of the normal distribution: 0.8413 is one sigma up. The error of 20000 draws is 1 %.
  EXPECT_NEAR(drawn[10000], 1000, 25);
  EXPECT_NEAR(drawn[16826], 1000 * std::exp(0.5), 45);
  EXPECT_NEAR(drawn[3174], 1000 * std::exp(-0.5), 20);
}

TEST(LengthDistributionTest, LognormalIsCutAtItsMaximum) {
  const std::vector<int64_t> drawn = DrawMany("lognormal:1000,2,1500");
  EXPECT_EQ(drawn.back(), 1500);
  EXPECT_GE(drawn.front(), 1);
}

TEST(LengthDistributionTest, ListIsDrawnAlike) {
  std::map<int64_t, int> counts;
  for (const int64_t length : DrawMany("list:7,900,7,3")) ++counts[length];
  EXPECT_THAT(counts, ElementsAre(Pair(3, ::testing::Gt(4700)), Pair(7, ::testing::Gt(9600)),
                                  Pair(900, ::testing::Gt(4700))));
  EXPECT_EQ(LengthDistribution::Parse("list:7,900,7,3")->max(), 900);
}

TEST(LengthDistributionTest, SameSeedDrawsTheSame) {
  EXPECT_EQ(DrawMany("lognormal:100,1,5000", 50), DrawMany("lognormal:100,1,5000", 50));
}

TEST(LengthDistributionTest, ErrorsNameValueAndLimit) {
  EXPECT_THAT(LengthDistribution::Parse("0"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"0\" is no number of tokens in [1, 16777216]")));
  EXPECT_THAT(ErrorOf("uniform:5,4"), HasSubstr("LOW 5 is over HIGH 4"));
  EXPECT_THAT(ErrorOf("uniform:5"), HasSubstr("takes 2 numbers, there are 1"));
  EXPECT_THAT(ErrorOf("lognormal:5,x,9"), HasSubstr("SIGMA is \"x\", must be in [0, 10]"));
  EXPECT_THAT(ErrorOf("lognormal:5,1"), HasSubstr("lognormal:MEDIAN,SIGMA,MAX takes 3"));
  EXPECT_THAT(ErrorOf("list:1,,2"), HasSubstr("\"\" is no number"));
  EXPECT_THAT(ErrorOf("gamma:1,2"), HasSubstr("\"gamma:1,2\" is none of"));
}

}  // namespace
}  // namespace phyllo
