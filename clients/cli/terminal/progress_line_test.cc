#include "clients/cli/terminal/progress_line.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class ProgressLineTest : public ::testing::Test {
 protected:
  std::stringstream in_, out_, err_;
};

TEST_F(ProgressLineTest, WritesNothingWhenErrIsNoTerminal) {
  const Terminal terminal = {in_, out_, err_, false, false};
  {
    ProgressLine line(terminal);
    line.Show("half way");
  }
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ProgressLineTest, LeavesAnEmptyLineBehind) {
  const Terminal terminal = {in_, out_, err_, true, true};
  {
    ProgressLine line(terminal);
    line.Show("half way");
  }
  EXPECT_THAT(err_.str(), HasSubstr("half way"));
  EXPECT_THAT(err_.str(), EndsWith("\r\033[K"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ProgressLineTest, WritesNothingWhenNothingWasShown) {
  const Terminal terminal = {in_, out_, err_, true, true};
  { ProgressLine line(terminal); }
  EXPECT_EQ(err_.str(), "");
}

TEST_F(ProgressLineTest, DescribesEachServiceOfALaunch) {
  LaunchProgress progress = {};
  progress.states = {LaunchState::kServing, LaunchState::kServing, LaunchState::kLoading,
                     LaunchState::kNotStarted};
  progress.resident_bytes[2] = 3 << 20;
  progress.elapsed = absl::Milliseconds(1500);
  EXPECT_EQ(DescribeLaunch("demo", progress),
            "starting demo: tokenizer ready, embedding ready, transformer 3.0 MiB, gateway waits "
            "(1.5 s)");
}

TEST_F(ProgressLineTest, DescribesHowFarAServiceHasCome) {
  LaunchProgress progress = {};
  progress.states.fill(LaunchState::kServing);
  progress.states[1] = progress.states[2] = LaunchState::kLoading;
  progress.activities[1] = {"digesting", 512 << 20, 1 << 30};
  progress.activities[2] = {"packing", 0, 0};
  progress.resident_bytes[2] = 3 << 20;
  EXPECT_EQ(DescribeLaunch("demo", progress),
            "starting demo: tokenizer ready, embedding digesting 50 % of 1.0 GiB, transformer 3.0 "
            "MiB, gateway ready (0.0 s)");
}

TEST_F(ProgressLineTest, DescribesPrefill) {
  gateway::v1::PrefillProgress progress;
  progress.set_done_token_count(512);
  progress.set_total_token_count(2048);
  EXPECT_EQ(DescribePrefill(progress), "reading the prompt: 512 of 2048 tokens (25 %)");
}

}  // namespace
}  // namespace phyllo
