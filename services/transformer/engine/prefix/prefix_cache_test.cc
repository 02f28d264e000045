#include "services/transformer/engine/prefix/prefix_cache.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/sequence_pages.h"
#include "services/transformer/engine/testing/fake_step_model.h"

namespace phyllo {
namespace {

constexpr int64_t kPageSize = 4;

// `count` ids that `seed` decides.
std::vector<int32_t> Ids(int64_t count, int32_t seed = 0) {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < count; ++i) ids.push_back((i * i + 7 * seed + i * seed) % 12);
  return ids;
}

std::vector<int32_t> Concat(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A sequence that takes from the cache what it finds and computes the rest with the fake model,
// which tells by its hash whether the pages hold what they should.
class Computation {
 public:
  Computation(FakeStepModel& model, PrefixCache& cache, std::vector<int32_t> token_ids,
              std::string name = "", std::optional<int64_t> limit = std::nullopt)
      : cache_(cache), token_ids_(std::move(token_ids)), pages_(model.page_groups(), kPageSize) {
    const auto size = static_cast<int64_t>(token_ids_.size());
    found_ = cache.Find(name, token_ids_, limit.value_or(size - 1)).token_count;
    path_ = cache.Attach(name, token_ids_, limit.value_or(size - 1), pages_);
    attached_ = path_.token_count();
    PHYLLO_EXPECT_OK(pages_.Resize(size));
    std::vector<float> rows(2 * (size - attached_));
    PHYLLO_EXPECT_OK(model.Embed(absl::MakeConstSpan(token_ids_).subspan(attached_), attached_,
                                 absl::MakeSpan(rows)));
    PHYLLO_EXPECT_OK(model.Forward({{.row_begin = 0,
                                     .row_count = size - attached_,
                                     .first_position = attached_,
                                     .prompt_length = size,
                                     .pages = &pages_}},
                                   {rows.data(), size - attached_, 2, 2}));
    std::vector<float> logits(FakeStepModel::kVocabSize);
    PHYLLO_EXPECT_OK(model.ComputeLogits(
        {size - attached_ - 1}, {rows.data(), size - attached_, 2, 2}, /*largest=*/{},
        {logits.data(), 1, FakeStepModel::kVocabSize, FakeStepModel::kVocabSize}));
    FakeStepModel::Windows windows;
    for (const KvPageGroup& group : model.page_groups()) windows.push_back(group.window);
    EXPECT_EQ(logits, FakeStepModel::LogitsAfter(token_ids_, windows));
  }

  // Stores the whole pages.
  void Store() {
    cache_.Insert(path_, token_ids_, static_cast<int64_t>(token_ids_.size()), pages_);
  }
  // Stores everything and lets go.
  void Finish() {
    Store();
    cache_.InsertTail(path_, token_ids_, static_cast<int64_t>(token_ids_.size()), pages_);
    path_ = PrefixCache::Path();
    pages_.Clear();
  }

  int64_t found() const { return found_; }        // as Find said
  int64_t attached() const { return attached_; }  // as Attach said
  SequencePages& pages() { return pages_; }

 private:
  PrefixCache& cache_;
  const std::vector<int32_t> token_ids_;
  PrefixCache::Path path_;
  SequencePages pages_;
  int64_t found_ = 0;
  int64_t attached_ = 0;
};

class PrefixCacheTest : public testing::Test {
 protected:
  // Computes and stores; returns how many tokens came from the cache.
  int64_t Run(std::vector<int32_t> token_ids, std::string name = "") {
    Computation computation(model_, cache_, std::move(token_ids), std::move(name));
    EXPECT_EQ(computation.found(), computation.attached());
    computation.Finish();
    return computation.attached();
  }

  FakeStepModel model_{/*page_count=*/20, kPageSize, /*max_rows=*/128};
  PrefixCache cache_{model_};
};

TEST_F(PrefixCacheTest, FindsEverythingButTheLastTokenAgain) {
  EXPECT_EQ(Run(Ids(14)), 0);
  EXPECT_EQ(Run(Ids(14)), 13);
}

TEST_F(PrefixCacheTest, FindsTheCommonBeginningInsideAPage) {
  Run(Concat(Ids(10), {1, 1, 1, 1}));
  EXPECT_EQ(Run(Concat(Ids(10), {2, 2, 2, 2, 2})), 10);
}

TEST_F(PrefixCacheTest, FindsALongerTextBehindAFinishedOne) {
  Run(Ids(10));
  EXPECT_EQ(Run(Ids(23)), 10);
  EXPECT_EQ(Run(Ids(30)), 23);
}

TEST_F(PrefixCacheTest, KeepsNamesApart) {
  Run(Ids(14), "a");
  EXPECT_EQ(Run(Ids(14), "b"), 0);
  EXPECT_EQ(Run(Ids(14), "a"), 13);
}

TEST_F(PrefixCacheTest, FindsNoMoreThanTheLimit) {
  Run(Ids(14));
  for (const int64_t limit : {0, 1, 4, 7, 8}) {
    Computation computation(model_, cache_, Ids(14), "", limit);
    EXPECT_EQ(computation.attached(), limit);
  }
}

TEST_F(PrefixCacheTest, SharesWholePagesThatAreInUseAndCopiesTheOther) {
  Computation first(model_, cache_, Ids(11));
  first.Store();
  ASSERT_EQ(model_.page_allocator().free_count(), 17);
  Computation second(model_, cache_, Concat(Ids(8), {1, 2, 3}));
  EXPECT_EQ(second.attached(), 8);
  EXPECT_EQ(second.pages().table(0).page_ids().subspan(0, 2),
            first.pages().table(0).page_ids().subspan(0, 2));
  EXPECT_EQ(model_.page_allocator().free_count(), 16);
  Computation third(model_, cache_, Concat(Ids(6), {1, 2, 3}));
  EXPECT_EQ(third.attached(), 6);
  EXPECT_EQ(third.pages().table(0).page_ids()[0], first.pages().table(0).page_ids()[0]);
  EXPECT_NE(third.pages().table(0).page_ids()[1], first.pages().table(0).page_ids()[1]);
}

TEST_F(PrefixCacheTest, SaysWhichPagesItTakesFromTheFreeOnes) {
  {
    Computation first(model_, cache_, Ids(14));
    first.Store();
    // Two pages are in use, the third in part: a copy.
    const PrefixCache::Match match = cache_.Find("", Ids(14), 10);
    EXPECT_EQ(match.token_count, 10);
    EXPECT_EQ(match.page_counts[0], 3);
    EXPECT_EQ(match.free_counts[0], 1);
  }
  const PrefixCache::Match match = cache_.Find("", Ids(14), 10);
  EXPECT_EQ(match.page_counts[0], 3);
  EXPECT_EQ(match.free_counts[0], 3);
}

TEST_F(PrefixCacheTest, KeepsNoPageFromOthers) {
  Run(Ids(40));
  EXPECT_EQ(model_.page_allocator().free_count(), 20);
  EXPECT_EQ(cache_.page_count(), 10);
  Run(Ids(80, 1));  // all pages there are
  EXPECT_EQ(cache_.evicted_page_count(), 10);
  EXPECT_EQ(Run(Ids(40)), 0);
}

TEST_F(PrefixCacheTest, LosesWhatWasUsedLongestAgoAndItsEndFirst) {
  Run(Ids(24, 1));
  Run(Ids(24, 2));
  EXPECT_EQ(Run(Ids(24, 1)), 23);  // used again
  Run(Ids(28, 3));                 // takes 7 of the 8 pages that were never remembered
  Computation last(model_, cache_, Ids(16, 4));  // the eighth, and three from the end of the second
  EXPECT_EQ(cache_.Find("", Ids(24, 1), 23).token_count, 23);
  EXPECT_EQ(cache_.Find("", Ids(24, 2), 23).token_count, 12);
}

TEST_F(PrefixCacheTest, ForgetsThePagesOfASequence) {
  {
    Computation computation(model_, cache_, Ids(14));
    computation.Store();
    cache_.Forget(computation.pages());
  }
  EXPECT_EQ(cache_.page_count(), 0);
  EXPECT_EQ(Run(Ids(14)), 0);
}

TEST_F(PrefixCacheTest, DoesWithoutACopyWhenThereIsNoFreePage) {
  Run(Ids(14));
  SequencePages others(model_.page_groups(), kPageSize);
  PHYLLO_ASSERT_OK(others.Resize(16 * kPageSize));
  SequencePages pages(model_.page_groups(), kPageSize);
  // The four pages known are the only free ones: of the last, held while it is copied, none is left
  // to copy to.
  const PrefixCache::Path path = cache_.Attach("", Ids(14), 13, pages);
  EXPECT_EQ(path.token_count(), 12);
  EXPECT_EQ(pages.page_count(), 3);
}

TEST_F(PrefixCacheTest, LeavesTheAllocatorAsItWas) {
  {
    PrefixCache other(model_);
    Computation computation(model_, other, Ids(14));
    computation.Finish();
  }
  SequencePages all(model_.page_groups(), kPageSize);
  PHYLLO_EXPECT_OK(all.Resize(20 * kPageSize));
}

// Layers that see everything and layers that see 6 tokens.
TEST(PrefixCacheWindowTest, NeedsOnlyTheWindowsPages) {
  FakeStepModel model({20, 20}, {std::nullopt, 6}, kPageSize);
  PrefixCache cache(model);
  Computation first(model, cache, Ids(30));
  first.Store();
  // Pages 0 to 3 of the windowed layers get another use: a hit at 24 sees positions from 19 on.
  first.pages().ReleaseBefore(22);
  EXPECT_EQ(first.pages().table(1).released_count(), 4);
  SequencePages others({model.page_groups()[1]}, kPageSize);
  PHYLLO_ASSERT_OK(others.Resize(16 * kPageSize));
  EXPECT_EQ(cache.evicted_page_count(), 4);
  PHYLLO_ASSERT_OK(others.Resize(15 * kPageSize));

  Computation second(model, cache, Concat(Ids(28), {1, 2}));
  EXPECT_EQ(second.attached(), 28);
  EXPECT_EQ(second.pages().table(1).released_count(), 5);
  // At 16 positions from 11 on are needed, and gone; nothing shorter is of use either.
  EXPECT_EQ(cache.Find("", Ids(30), 19).token_count, 0);
}

TEST(PrefixCacheWindowTest, WorksWithoutLayersThatSeeEverything) {
  FakeStepModel model(std::vector<int64_t>{6}, FakeStepModel::Windows{6}, kPageSize);
  PrefixCache cache(model);
  {
    SequencePages pages(model.page_groups(), kPageSize);
    PrefixCache::Path path = cache.Attach("", Ids(40), 39, pages);
    std::vector<float> rows(2 * 4);
    for (int64_t first = 0; first < 40; first += 4) {  // in chunks, as a window needs
      PHYLLO_ASSERT_OK(pages.Resize(first + 4));
      PHYLLO_ASSERT_OK(
          model.Embed(absl::MakeConstSpan(Ids(40)).subspan(first, 4), first, absl::MakeSpan(rows)));
      PHYLLO_ASSERT_OK(model.Forward(
          {{.row_count = 4, .first_position = first, .prompt_length = 40, .pages = &pages}},
          {rows.data(), 4, 2, 2}));
      cache.Insert(path, Ids(40), first + 4, pages);
      pages.ReleaseBefore(first + 4);
    }
  }
  const PrefixCache::Match match = cache.Find("", Ids(40), 38);
  EXPECT_EQ(match.token_count, 38);
  EXPECT_EQ(match.page_counts[0], 2);  // positions 33 to 37, the latter in a copy
  Computation second(model, cache, Ids(40));
  EXPECT_EQ(second.attached(), 39);
}

}  // namespace
}  // namespace phyllo
