// Expected values are written out from the definitions of transformers' logits processors of the
// same names.
#include "model/sampling/logits_processors.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

TEST(AddLogitBiasTest, AddsToTheNamedTokensOnly) {
  std::vector<float> logits = {0.5f, 1.0f, -1.0f};
  AddLogitBias({{0, 2.0f}, {2, -3.0f}}, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(2.5f, 1.0f, -4.0f));
}

TEST(BanTokensTest, PutsTheNamedTokensAtNegativeInfinity) {
  std::vector<float> logits = {1.0f, 2.0f, 3.0f};
  BanTokens({1}, absl::MakeSpan(logits));
  EXPECT_THAT(logits, ElementsAre(1.0f, kBannedLogit, 3.0f));
}

TEST(KeepOnlyTokensTest, BansAllOthers) {
  std::vector<float> logits = {1.0f, 2.0f, 3.0f, 4.0f};
  std::vector<float> scratch;
  KeepOnlyTokens({3, 1}, absl::MakeSpan(logits), scratch);
  EXPECT_THAT(logits, ElementsAre(kBannedLogit, 2.0f, kBannedLogit, 4.0f));
}

}  // namespace
}  // namespace phyllo
