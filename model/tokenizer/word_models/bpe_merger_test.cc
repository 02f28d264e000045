#include "model/tokenizer/word_models/bpe_merger.h"

#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> Merge(const BpeMerger& merger, const std::vector<int32_t>& ids,
                           BpeMerger::Scratch* scratch) {
  std::vector<BpeMerger::Symbol> symbols;
  for (const int32_t id : ids) symbols.push_back({id, 1});
  merger.Merge(scratch, &symbols);
  std::vector<int32_t> merged;
  int64_t length = 0;
  for (const BpeMerger::Symbol& symbol : symbols) {
    merged.push_back(symbol.id);
    length += symbol.length;
  }
  EXPECT_EQ(length, static_cast<int64_t>(ids.size()));
  return merged;
}

// Merges by the definition: the lowest rank anywhere, leftmost, until there is none.
std::vector<int32_t> MergeByDefinition(const std::vector<std::vector<int32_t>>& table,
                                       std::vector<int32_t> ids) {
  while (true) {
    size_t best = ids.size();
    size_t best_rank = table.size();
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best_rank; ++rank) {
        if (table[rank][0] == ids[i] && table[rank][1] == ids[i + 1]) {
          best_rank = rank;
          best = i;
        }
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = table[best_rank][2];
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(BpeMergerTest, LowestRankGoesFirst) {
  BpeMerger merger;
  merger.Add(1, 2, 1, 12);
  merger.Add(2, 3, 0, 23);
  BpeMerger::Scratch scratch;
  EXPECT_THAT(Merge(merger, {1, 2, 3}, &scratch), ElementsAre(1, 23));
}

TEST(BpeMergerTest, EqualRankGoesLeftFirst) {
  BpeMerger merger;
  merger.Add(1, 1, 0, 11);
  BpeMerger::Scratch scratch;
  EXPECT_THAT(Merge(merger, {1, 1, 1}, &scratch), ElementsAre(11, 1));
}

TEST(BpeMergerTest, LaterMergeOfSamePairReplaces) {
  BpeMerger merger;
  merger.Add(1, 2, 0, 12);
  merger.Add(1, 2, 5, 21);
  BpeMerger::Scratch scratch;
  EXPECT_THAT(Merge(merger, {1, 2}, &scratch), ElementsAre(21));
}

TEST(BpeMergerTest, AgreesWithDefinitionForShortAndLongWords) {
  std::mt19937 random(7);
  std::vector<std::vector<int32_t>> table;
  BpeMerger merger;
  for (int32_t rank = 0; rank < 60; ++rank) {
    const auto pick = [&] {
      return static_cast<int32_t>(random() % static_cast<uint32_t>(4 + rank));
    };
    const std::vector<int32_t> merge = {pick(), pick(), 4 + rank};
    bool known = false;
    for (const auto& other : table) known = known || (other[0] == merge[0] && other[1] == merge[1]);
    if (known) continue;
    merger.Add(merge[0], merge[1], static_cast<uint32_t>(table.size()), merge[2]);
    table.push_back(merge);
  }
  BpeMerger::Scratch scratch;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<int32_t> ids(random() % 120);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % 4);
    EXPECT_EQ(Merge(merger, ids, &scratch), MergeByDefinition(table, ids));
  }
}

TEST(BpeMergerTest, QueueOperationsAreLinearInWord) {
  // Pairs of pairs of pairs: every length merges down to powers of two, which is the most a word
  // can merge.
  BpeMerger merger;
  for (int32_t level = 0; level < 24; ++level)
    merger.Add(level, level, static_cast<uint32_t>(level), level + 1);
  for (const size_t n : {size_t{1000}, size_t{100000}, size_t{1000000}}) {
    BpeMerger::Scratch scratch;
    Merge(merger, std::vector<int32_t>(n, 0), &scratch);
    EXPECT_GE(scratch.queue_operation_count, static_cast<int64_t>(n) - 1);
    EXPECT_LE(scratch.queue_operation_count, 3 * static_cast<int64_t>(n));
  }
}

}  // namespace
}  // namespace phyllo
