#include "services/gateway/async/parent_call.h"

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(ParentCallTest, TellsListenersOnce) {
  ParentCall parent(nullptr);
  int count = 0;
  parent.AddListener([&count] { ++count; });
  EXPECT_FALSE(parent.is_cancelled());
  parent.Cancel();
  parent.Cancel();
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(parent.is_cancelled());
}

TEST(ParentCallTest, TellsListenersThatComeTooLate) {
  ParentCall parent(nullptr);
  parent.Cancel();
  int count = 0;
  parent.AddListener([&count] { ++count; });
  EXPECT_EQ(count, 1);
}

TEST(ParentCallTest, ForgetsListenersThatWereRemoved) {
  ParentCall parent(nullptr);
  int count = 0;
  const int64_t removed = parent.AddListener([&count] { count += 1; });
  parent.AddListener([&count] { count += 10; });
  parent.RemoveListener(removed);
  parent.Cancel();
  EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace phyllo
