#include "services/common/logger.h"

#include <sstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(LoggerTest, WritesLogfmtFieldsInOrder) {
  std::ostringstream out;
  Logger logger({"gateway", LogLevel::kInfo, LogFormat::kLogfmt, &out});
  logger.Info("request finished", {{"request_id", "r1"},
                                   {"tokens", 12},
                                   {"ok", true},
                                   {"total_seconds", absl::Milliseconds(250)}});
  EXPECT_THAT(
      out.str(),
      AllOf(StartsWith("ts="),
            HasSubstr(
                "Z level=info service=gateway event=\"request finished\" request_id=r1 tokens=12 "
                "ok=true total_seconds=0.25\n")));
}

TEST(LoggerTest, WritesParsableJson) {
  std::ostringstream out;
  Logger logger({"gateway", LogLevel::kInfo, LogFormat::kJson, &out});
  logger.Warning("odd \"name\"", {{"text", "a\nb\\"}, {"count", int64_t{7}}, {"nan", 0.0 / 0.0}});
  const nlohmann::json line = nlohmann::json::parse(out.str(), nullptr, false);
  ASSERT_TRUE(line.is_object()) << out.str();
  EXPECT_EQ(line["event"], "odd \"name\"");
  EXPECT_EQ(line["text"], "a\nb\\");
  EXPECT_EQ(line["count"], 7);
  EXPECT_TRUE(line["nan"].is_string());
}

TEST(LoggerTest, KeepsOneLineWhenValueHoldsNewlines) {
  std::ostringstream out;
  Logger logger({"gateway", LogLevel::kInfo, LogFormat::kLogfmt, &out});
  logger.Error("failed", {{"error", absl::InternalError("first\nevent=forged")}});
  EXPECT_THAT(out.str(), EndsWith("error=\"INTERNAL: first\\u000aevent=forged\"\n"));
  EXPECT_EQ(out.str().find('\n'), out.str().size() - 1);
}

TEST(LoggerTest, DropsLinesBelowItsLevel) {
  std::ostringstream out;
  Logger logger({"gateway", LogLevel::kWarning, LogFormat::kLogfmt, &out});
  logger.Info("quiet");
  logger.Debug("quieter");
  EXPECT_THAT(out.str(), IsEmpty());
}

TEST(LoggerTest, KeepsLinesWholeWhenThreadsWrite) {
  std::ostringstream out;
  Logger logger({"gateway", LogLevel::kInfo, LogFormat::kLogfmt, &out});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&logger] {
      for (int i = 0; i < 100; ++i) logger.Info("e", {{"k", 1}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(out.str());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_THAT(line, MatchesRegex("ts=[^ ]+ level=info service=gateway event=e k=1"));
  EXPECT_EQ(count, 400);
}

TEST(LoggerTest, RejectsUnknownLevelAndFormat) {
  EXPECT_THAT(ParseLogLevel("loud"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loud")));
  EXPECT_THAT(ParseLogFormat("xml"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("xml")));
}

}  // namespace
}  // namespace phyllo
