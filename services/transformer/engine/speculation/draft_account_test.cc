#include "services/transformer/engine/speculation/draft_account.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

// A step of one sequence that takes a second without drafts.
DraftedStep Drafted(double seconds, int64_t accepted_count) {
  return {.seconds = seconds,
          .plain_seconds = 1.0,
          .plain_row_count = 1,
          .drafted = true,
          .accepted_count = accepted_count};
}

constexpr DraftedStep kPlain = {.seconds = 1.0, .plain_seconds = 1.0, .plain_row_count = 1};

TEST(DraftAccountTest, AllowsDraftsFromTheBeginning) {
  EXPECT_TRUE(DraftAccount().allows_drafts());
  DraftAccount account;
  account.Add(kPlain);
  EXPECT_TRUE(account.allows_drafts());
}

TEST(DraftAccountTest, DraftsThatPayGoOnForever) {
  DraftAccount account;
  for (int i = 0; i < 1000; ++i) {
    account.Add(Drafted(/*seconds=*/1.5, /*accepted_count=*/i % 2 == 0 ? 2 : 0));
    ASSERT_TRUE(account.allows_drafts()) << i;
  }
}

TEST(DraftAccountTest, DraftsThatDoNotPayCostNoMoreThanTheirAllowance) {
  DraftAccount account;
  double seconds = 0.0;
  constexpr int kSteps = 2000;
  for (int i = 0; i < kSteps; ++i) {
    const DraftedStep step = account.allows_drafts() ? Drafted(1.5, 0) : kPlain;
    seconds += step.seconds;
    account.Add(step);
  }
  EXPECT_GT(seconds, kSteps) << "nothing was tried";
  EXPECT_LT(seconds, kSteps * (1.0 + 1.25 * DraftAccount::kAllowance));
}

TEST(DraftAccountTest, WhatWasWonIsNotLostForLong) {
  DraftAccount account;
  for (int i = 0; i < 1000; ++i) account.Add(Drafted(1.5, 3));
  int lost_count = 0;
  for (; account.allows_drafts(); ++lost_count) account.Add(Drafted(1.5, 0));
  EXPECT_LE(lost_count, 20);
}

TEST(DraftAccountTest, ATokenIsWorthThePartOfAStepThatItTakes) {
  // Of eight sequences each gets a token a step: one more is an eighth of the time.
  DraftAccount account;
  DraftedStep step = Drafted(1.2, 1);
  step.plain_row_count = 8;
  int count = 0;
  for (; account.allows_drafts() && count < 1000; ++count) account.Add(step);
  EXPECT_LT(count, 50);
  DraftAccount other;
  step.accepted_count = 2;
  for (int i = 0; i < 1000; ++i) other.Add(step);
  EXPECT_TRUE(other.allows_drafts());
}

TEST(DraftAccountTest, AStepThatHangsIsForgivenWhereDraftsPay) {
  DraftAccount account;
  for (int i = 0; i < 10; ++i) account.Add(Drafted(1.5, 3));
  account.Add(Drafted(/*seconds=*/3600.0, 0));
  EXPECT_TRUE(account.allows_drafts());
}

}  // namespace
}  // namespace phyllo
