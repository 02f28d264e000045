#include "model/tokenizer/word_models/vocabulary.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(VocabularyTest, FindsBothWays) {
  Vocabulary filled;
  EXPECT_THAT(filled.Add("a", 2), IsOk());
  const Vocabulary vocabulary = std::move(filled);
  EXPECT_THAT(vocabulary.IdOf("a"), Optional(2));
  EXPECT_THAT(vocabulary.TokenOf(2), Optional(Eq("a")));
  EXPECT_FALSE(vocabulary.IdOf("b").has_value());
  EXPECT_FALSE(vocabulary.TokenOf(1).has_value());
  EXPECT_FALSE(vocabulary.TokenOf(3).has_value());
  EXPECT_FALSE(vocabulary.TokenOf(-1).has_value());
  EXPECT_EQ(vocabulary.size(), 3);
}

TEST(VocabularyTest, LastIdOfTokenCounts) {
  Vocabulary vocabulary;
  EXPECT_THAT(vocabulary.Add("a", 0), IsOk());
  EXPECT_THAT(vocabulary.Add("a", 1), IsOk());
  EXPECT_THAT(vocabulary.IdOf("a"), Optional(1));
  EXPECT_THAT(vocabulary.TokenOf(0), Optional(Eq("a")));
}

TEST(VocabularyTest, BadIdsAreErrors) {
  Vocabulary vocabulary;
  EXPECT_THAT(vocabulary.Add("a", 0), IsOk());
  EXPECT_THAT(vocabulary.Add("b", 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two tokens have the id 0")));
  EXPECT_THAT(vocabulary.Add("b", -1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
  EXPECT_THAT(vocabulary.Add("b", Vocabulary::kMaxSize),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4194304")));
}

}  // namespace
}  // namespace phyllo
