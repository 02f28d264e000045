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

constexpr double kCpuCount = 2.0;

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

TEST(NewsPauseTest, GrowsWithPartOfACpu) {
  EXPECT_EQ(NewsPause(absl::Milliseconds(10), 32, 0.5),
            2 * NewsPause(absl::Milliseconds(10), 32, 1.0));
}

TEST(NewsPauseTest, IsZeroWhenNobodyIsToWait) {
  EXPECT_EQ(NewsPause(absl::ZeroDuration(), 1000, 1), absl::ZeroDuration());
}

TEST(NewsDispatcherTest, CallsReadersInTheOrderOfTheirPosts) {
  std::vector<int> told;
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher(absl::ZeroDuration(), kCpuCount);
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
    NewsDispatcher dispatcher(absl::ZeroDuration(), kCpuCount);
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
  NewsDispatcher dispatcher(absl::InfiniteDuration(), kCpuCount);
  dispatcher.Post(reader, NewsUrgency::kCanWait);
  reader->Wait();
}

TEST(NewsDispatcherTest, CallsUrgentReadersWhileOthersWait) {
  std::vector<int> told;
  const auto first = std::make_shared<NotifyingReader>();
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher(absl::InfiniteDuration(), kCpuCount);
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
  NewsDispatcher dispatcher(absl::Milliseconds(1), kCpuCount);
  dispatcher.Post(first, NewsUrgency::kCanWait);
  first->Wait();
  dispatcher.Post(second, NewsUrgency::kCanWait);
  second->Wait();
}

// The CPUs that are given count, not those of the machine: with next to none the pause after one
// message outlasts everything.
TEST(NewsDispatcherTest, LetsReadersWaitLongerOnFewerCpus) {
  std::vector<int> told;
  const auto first = std::make_shared<NotifyingReader>();
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher(absl::Nanoseconds(1), /*cpu_count=*/1e-9);
    dispatcher.Post(first, NewsUrgency::kCanWait);
    first->Wait();
    dispatcher.Post(one, NewsUrgency::kCanWait);
    for (int i = 0; i < 1000; ++i) {  // longer than one message waits on whole CPUs
      const auto urgent = std::make_shared<NotifyingReader>();
      dispatcher.Post(urgent, NewsUrgency::kNow);
      urgent->Wait();
    }
    dispatcher.Post(two, NewsUrgency::kNow);
  }
  EXPECT_THAT(told, ElementsAre(2, 1));
}

}  // namespace
}  // namespace phyllo
