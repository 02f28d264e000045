#include "services/transformer/news_dispatcher.h"

#include <memory>
#include <vector>

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

TEST(NewsDispatcherTest, CallsReadersInTheOrderOfTheirPosts) {
  std::vector<int> told;
  const auto one = std::make_shared<Reader>(1, told), two = std::make_shared<Reader>(2, told);
  {
    NewsDispatcher dispatcher;
    dispatcher.Post(one);
    dispatcher.Post(two);
    dispatcher.Post(one);
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
    NewsDispatcher dispatcher;
    dispatcher.Post(gone);
    dispatcher.Post(one);
  }
  EXPECT_THAT(told, ElementsAre(1));
}

}  // namespace
}  // namespace phyllo
