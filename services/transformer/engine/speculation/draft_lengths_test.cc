#include "services/transformer/engine/speculation/draft_lengths.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

// A draft of `count` tokens each of which is accepted with `probability`.
void AddDraft(int64_t sequence, int64_t count, double probability,
              std::vector<DraftChance>& chances) {
  double all = 1.0;
  for (int64_t i = 0; i < count; ++i) chances.push_back({all *= probability, sequence});
}

double Linear(int64_t rows) { return static_cast<double>(rows); }
double Constant(int64_t /*rows*/) { return 1.0; }
// Of a CPU that reads the weights in the time that it multiplies sixteen rows.
double Roofline(int64_t rows) { return 1.0 + static_cast<double>(rows) / 16.0; }

int64_t Choose(int64_t rows, std::vector<DraftChance> chances,
               absl::FunctionRef<double(int64_t)> cost) {
  return ChooseDrafts(rows, 256, cost, chances);
}

TEST(DraftLengthsTest, DraftsNothingWhereARowCostsAllThatItMayBring) {
  std::vector<DraftChance> chances;
  AddDraft(0, 8, 1.0, chances);
  EXPECT_EQ(Choose(1, chances, Linear), 0);
  EXPECT_EQ(Choose(64, chances, Linear), 0);
}

TEST(DraftLengthsTest, DraftsAllWhereRowsCostNothing) {
  std::vector<DraftChance> chances;
  AddDraft(0, 8, 0.5, chances);
  EXPECT_EQ(Choose(1, chances, Constant), 8);
}

TEST(DraftLengthsTest, DraftsFewerTheLessIsAccepted) {
  int64_t last = 0;
  for (const double probability : {0.02, 0.3, 0.6, 0.9}) {
    std::vector<DraftChance> chances;
    AddDraft(0, 16, probability, chances);
    const int64_t count = Choose(1, chances, Roofline);
    EXPECT_GE(count, last) << probability;
    last = count;
  }
  EXPECT_GT(last, 8);
  std::vector<DraftChance> chances;
  AddDraft(0, 16, 0.02, chances);
  EXPECT_EQ(Choose(1, chances, Roofline), 0);
}

TEST(DraftLengthsTest, DraftsShrinkToNothingUnderLoad) {
  int64_t last = 8;
  for (const int64_t rows : {1, 8, 32, 128}) {
    std::vector<DraftChance> chances;
    for (int64_t i = 0; i < rows; ++i) AddDraft(i, 8, 0.6, chances);
    const int64_t count = Choose(rows, chances, Roofline) / rows;
    EXPECT_LE(count, last) << rows;
    last = count;
  }
  EXPECT_EQ(last, 0);
}

TEST(DraftLengthsTest, PrefersTheLikelierDrafts) {
  std::vector<DraftChance> chances;
  AddDraft(0, 8, 0.1, chances);
  AddDraft(1, 8, 0.99, chances);
  const int64_t count = ChooseDrafts(2, 256, Roofline, chances);
  ASSERT_GE(count, 6);
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(chances[i].sequence, 1) << i;
}

TEST(DraftLengthsTest, StaysWithinTheRowsOfAStep) {
  std::vector<DraftChance> chances;
  AddDraft(0, 16, 1.0, chances);
  EXPECT_EQ(ChooseDrafts(1, 5, Constant, chances), 5);
  EXPECT_EQ(ChooseDrafts(1, 0, Constant, chances), 0);
}

TEST(DraftLengthsTest, DoesNotBotherForAGainThatNobodyNotices) {
  std::vector<DraftChance> chances;
  AddDraft(0, 1, 0.01, chances);
  EXPECT_EQ(Choose(1, chances, Constant), 0);
}

TEST(DraftLengthsTest, RoundsEndWhereTheyCostMoreThanTheyBring) {
  EXPECT_EQ(ChooseDraftRounds(1, {{0.9, 8}}, /*seconds_per_round=*/0.0, Constant), 8);
  EXPECT_EQ(ChooseDraftRounds(1, {{0.9, 8}}, /*seconds_per_round=*/10.0, Constant), 0);
  EXPECT_EQ(ChooseDraftRounds(1, {{0.0, 8}}, /*seconds_per_round=*/0.0, Roofline), 0);
  const int64_t count = ChooseDraftRounds(1, {{0.7, 16}}, /*seconds_per_round=*/0.1, Constant);
  EXPECT_GT(count, 1);
  EXPECT_LT(count, 10);
}

TEST(DraftLengthsTest, RoundsGoOnForThoseThatMayDraftMore) {
  EXPECT_EQ(ChooseDraftRounds(2, {{1.0, 2}, {1.0, 5}}, 0.0, Constant), 5);
  EXPECT_EQ(ChooseDraftRounds(1, {}, 0.0, Constant), 0);
}

}  // namespace
}  // namespace phyllo
