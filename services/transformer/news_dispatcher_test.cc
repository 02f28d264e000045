#include "services/transformer/news_dispatcher.h"

#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

// Notes its number whenever it is told.
class Reader final : public NewsReader {
 public:
  Reader(int number, std::vector<int>& told) : number_(number), told_(told) {}
  void OnNews() override { told_.push_back(number_); }

 private:
  const int number_;
  std::vector<int>& told_;  // only touched by the dispatcher's thread while that lives
};

TEST(NewsPauseTest, IsTheIntervalWhenReadersAreFew) {
  EXPECT_EQ(NewsPause(absl::Milliseconds(10), 1, 2), absl::Milliseconds(10));
  EXPECT_EQ(NewsPause(absl::Milliseconds(10), 32, 8), absl::Milliseconds(10));
}

TEST(NewsPauseTest, GrowsWithManyReadersOnFewCpus) {
  EXPECT_GT(NewsPause(absl::Milliseconds(10), 32, 2), absl::Milliseconds(15));
  EXPECT_EQ(NewsPause(absl::Milliseconds(10), 64, 2), 2 * NewsPause(absl::Milliseconds(10), 32, 2));
}

TEST(NewsPauseTest, IsZeroWhenNobodyIsToWait) {
  EXPECT_EQ(NewsPause(absl::ZeroDuration(), 1000, 1), absl::ZeroDuration());
}

TEST(NewsDispatcherTest, CallsReadersInTheOrderOfTheirPosts) {
  std::vector<int> told;
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher(absl::ZeroDuration());
    dispatcher.Post(one, NewsUrgency::kNow);
    dispatcher.Post(two, NewsUrgency::kNow);
    dispatcher.Post(one, NewsUrgency::kNow);
  }
  EXPECT_THAT(told, ElementsAre(1, 2, 1));
}

TEST(NewsDispatcherTest, SkipsReadersThatAreGone) {
  std::vector<int> told;
  const auto one = std::make_shared<Reader>(1, told);
  auto two = std::make_shared<Reader>(2, told);
  const std::weak_ptr<NewsReader> gone = two;
  two.reset();  // before the post: the dispatcher may look at once
  {
    NewsDispatcher dispatcher(absl::ZeroDuration());
    dispatcher.Post(gone, NewsUrgency::kNow);
    dispatcher.Post(one, NewsUrgency::kNow);
  }
  EXPECT_THAT(told, ElementsAre(1));
}

// To be told once.
class NotifyingReader final : public NewsReader {
 public:
  void OnNews() override { told_.Notify(); }
  void Wait() { told_.WaitForNotification(); }

 private:
  absl::Notification told_;
};

TEST(NewsDispatcherTest, CallsFirstReaderThatCanWaitAtOnce) {
  const auto reader = std::make_shared<NotifyingReader>();
  NewsDispatcher dispatcher(absl::InfiniteDuration());
  dispatcher.Post(reader, NewsUrgency::kCanWait);
  reader->Wait();
}

TEST(NewsDispatcherTest, CallsUrgentReadersWhileOthersWait) {
  std::vector<int> told;
  const auto first = std::make_shared<NotifyingReader>();
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher(absl::InfiniteDuration());
    dispatcher.Post(first, NewsUrgency::kCanWait);
    first->Wait();
    dispatcher.Post(one, NewsUrgency::kCanWait);  // until the dispatcher ends
    dispatcher.Post(two, NewsUrgency::kNow);
  }
  EXPECT_THAT(told, ElementsAre(2, 1));
}

TEST(NewsDispatcherTest, CallsWaitingReadersAfterInterval) {
  const auto first = std::make_shared<NotifyingReader>();
  const auto second = std::make_shared<NotifyingReader>();
  NewsDispatcher dispatcher(absl::Milliseconds(1));
  dispatcher.Post(first, NewsUrgency::kCanWait);
  first->Wait();
  dispatcher.Post(second, NewsUrgency::kCanWait);
  second->Wait();
}

}  // namespace
}  // namespace phyllo
