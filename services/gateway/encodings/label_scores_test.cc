#include "services/gateway/encodings/label_scores.h"

#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using common::v1::PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION;
using common::v1::PROBLEM_TYPE_REGRESSION;
using common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION;
using common::v1::PROBLEM_TYPE_UNSPECIFIED;
using ::testing::ElementsAre;
using ::testing::FloatEq;

std::vector<float> Scores(common::v1::ProblemType type, std::vector<float> logits) {
  LogitsToScores(type, absl::MakeSpan(logits));
  return logits;
}

TEST(ResolveProblemTypeTest, FollowsTheNumberOfLabelsWhereTheModelDoesNotSay) {
  EXPECT_EQ(ResolveProblemType(PROBLEM_TYPE_UNSPECIFIED, 1), PROBLEM_TYPE_REGRESSION);
  EXPECT_EQ(ResolveProblemType(PROBLEM_TYPE_UNSPECIFIED, 2),
            PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION);
  EXPECT_EQ(ResolveProblemType(PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION, 1),
            PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION);
}

// exp(0) : exp(ln 3) = 1 : 3.
TEST(LogitsToScoresTest, SingleLabelIsSoftmax) {
  EXPECT_THAT(Scores(PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION, {0.0f, 1.0986123f}),
              ElementsAre(FloatEq(0.25f), FloatEq(0.75f)));
}

TEST(LogitsToScoresTest, SoftmaxBearsLargeLogits) {
  EXPECT_THAT(Scores(PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION, {1000.0f, 1000.0f, -1000.0f}),
              ElementsAre(FloatEq(0.5f), FloatEq(0.5f), 0.0f));
}

TEST(LogitsToScoresTest, MultiLabelIsTheSigmoidOfEach) {
  EXPECT_THAT(Scores(PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION, {0.0f, 1.0986123f, -200.0f}),
              ElementsAre(FloatEq(0.5f), FloatEq(0.75f), 0.0f));
}

TEST(LogitsToScoresTest, RegressionIsTheValueItself) {
  EXPECT_THAT(Scores(PROBLEM_TYPE_REGRESSION, {-3.5f}), ElementsAre(-3.5f));
}

}  // namespace
}  // namespace phyllo
