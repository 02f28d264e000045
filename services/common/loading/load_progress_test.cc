#include "services/common/loading/load_progress.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LoadProgressTest : public ::testing::Test {
 protected:
  std::vector<std::string> LogLines() {
    return absl::StrSplit(log_.str(), '\n', absl::SkipEmpty());
  }

  const std::string path_ = ::testing::TempDir() + "/progress";
  std::ostringstream log_;
  Logger logger_{{.service = "transformer", .stream = &log_}};
};

TEST_F(LoadProgressTest, TellsTheFileOfANewActivityAtOnce) {
  LoadProgress progress(logger_, path_);
  EXPECT_THAT(ReadLoadActivity(path_), StatusIs(absl::StatusCode::kNotFound));
  progress.Report("digesting", 10, 200);
  PHYLLO_ASSERT_OK_AND_ASSIGN(LoadActivity activity, ReadLoadActivity(path_));
  EXPECT_EQ(activity.name, "digesting");
  EXPECT_EQ(activity.done_bytes, 10);
  EXPECT_EQ(activity.total_bytes, 200);
  progress.Report("packing", 0, 7);
  PHYLLO_ASSERT_OK_AND_ASSIGN(activity, ReadLoadActivity(path_));
  EXPECT_EQ(activity.name, "packing");
}

TEST_F(LoadProgressTest, TellsTheFileOfTheEnd) {
  LoadProgress progress(logger_, path_);
  for (int done = 0; done <= 100; ++done) progress.Report("packing", done, 100);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const LoadActivity activity, ReadLoadActivity(path_));
  EXPECT_EQ(activity.done_bytes, 100);
}

TEST_F(LoadProgressTest, LogsEveryTenthPart) {
  LoadProgress progress(logger_, "");
  for (int done = 0; done <= 1000; ++done) progress.Report("packing", done, 1000);
  ASSERT_THAT(LogLines(), SizeIs(10));
  EXPECT_THAT(LogLines()[2], AllOf(HasSubstr("activity=packing"), HasSubstr("percent=30")));
}

TEST_F(LoadProgressTest, LogsTheEndOfSomethingSmallOnce) {
  LoadProgress progress(logger_, "");
  progress.Report("packing", 0, 0);
  progress.Report("packing", 0, 0);
  EXPECT_THAT(LogLines(), SizeIs(1));
}

TEST_F(LoadProgressTest, GoesOnWithoutAFile) {
  LoadProgress progress(logger_, "/proc/phyllo/progress");
  progress.Report("packing", 1, 2);
  EXPECT_THAT(log_.str(), HasSubstr("cannot write the progress file"));
}

TEST(ReadLoadActivityTest, ReturnsDataLossForHalfALine) {
  const std::string path = ::testing::TempDir() + "/half";
  for (const char* const text : {"packing 1", "packing 5 1", "packing -1 9\n", "packing"}) {
    std::ofstream(path) << text;
    EXPECT_THAT(ReadLoadActivity(path), StatusIs(absl::StatusCode::kDataLoss)) << text;
  }
}

}  // namespace
}  // namespace phyllo
