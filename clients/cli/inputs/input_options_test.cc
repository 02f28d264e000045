// The command lines of embed, classify and score.
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clients/cli/command_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Options>
Options Parse(const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> command = ParseCommandLine(arguments, {});
  EXPECT_THAT(command, IsOk());
  if (!command.ok() || !std::holds_alternative<Options>(*command)) {
    ADD_FAILURE() << "another command or an error";
    return Options();
  }
  return std::get<Options>(*command);
}

void ExpectError(const std::vector<std::string>& arguments, const std::string& message) {
  EXPECT_THAT(ParseCommandLine(arguments, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
}

TEST(InputOptionsTest, EmbedTakesTexts) {
  const auto embed = Parse<EmbedOptions>({"embed", "a cat", "a dog"});
  EXPECT_THAT(embed.input.texts, ElementsAre("a cat", "a dog"));
  EXPECT_EQ(embed.target.address, kDefaultAddress);
  EXPECT_EQ(embed.request.ByteSizeLong(), 0u);
}

TEST(InputOptionsTest, EmbedTakesParameters) {
  const auto embed = Parse<EmbedOptions>({"embed", "--model", "/m", "--dimensions", "64",
                                          "--pooling", "mean", "--no-normalize",
                                          "--no-added-tokens", "--timeout", "2s", "--json", "x"});
  EXPECT_EQ(embed.target.model, "/m");
  EXPECT_EQ(embed.target.address, "");
  EXPECT_EQ(embed.request.dimensions(), 64);
  EXPECT_EQ(embed.request.pooling(), common::v1::POOLING_MEAN);
  EXPECT_TRUE(embed.request.has_normalize());
  EXPECT_FALSE(embed.request.normalize());
  EXPECT_TRUE(embed.request.has_add_special_tokens());
  EXPECT_EQ(embed.input.timeout, absl::Seconds(2));
  EXPECT_TRUE(embed.input.json);
}

TEST(InputOptionsTest, EmbedLeavesTheRangeOfDimensionsToTheGateway) {
  const auto embed = Parse<EmbedOptions>({"embed", "--dimensions", "0", "x"});
  EXPECT_TRUE(embed.request.has_dimensions());
  EXPECT_EQ(embed.request.dimensions(), 0);
}

TEST(InputOptionsTest, InputIsOfOneKind) {
  ExpectError({"embed"}, "exactly one of TEXT");
  ExpectError({"classify", "--file", "f", "x"}, "exactly one of TEXT");
  ExpectError({"score", "--ids", "1,2", "--json-lines"}, "exactly one of TEXT");
}

TEST(InputOptionsTest, NamesWhatCannotBeRead) {
  ExpectError({"embed", "--pooling", "max", "x"}, "must be last, mean or cls");
  ExpectError({"embed", "--lines", "x"}, "--lines needs --file");
  ExpectError({"embed", "--json-lines", "--concurrency", "0"}, "[1, 256]");
  ExpectError({"score", "--file", "f", "--lines"}, "--lines is for embed");
  ExpectError({"score", "a", "b"}, "one argument too many");
}

TEST(InputOptionsTest, ClassifyTakesAFile) {
  const auto classify =
      Parse<ClassifyOptions>({"classify", "--file", "reviews", "--lines", "--raw-logits"});
  EXPECT_EQ(classify.input.file, "reviews");
  EXPECT_TRUE(classify.input.lines);
  EXPECT_TRUE(classify.request.raw_logits());
}

TEST(InputOptionsTest, ScoreTakesAContinuation) {
  const auto score = Parse<ScoreOptions>(
      {"score", "The capital of France is", "--continuation", " Paris", "--top", "3", "--summary"});
  EXPECT_EQ(score.request.continuation(), " Paris");
  EXPECT_EQ(score.request.logprobs().top_count(), 3);
  EXPECT_TRUE(score.summary);
}

TEST(InputOptionsTest, ScoreTakesIds) {
  EXPECT_THAT(Parse<ScoreOptions>({"score", "--ids", "[1, 2, 3]"}).input.ids, ElementsAre(1, 2, 3));
}

TEST(InputOptionsTest, HelpTeaches) {
  for (const std::string name : {"embed", "classify", "score"}) {
    const std::string help = Parse<HelpOptions>({name, "--help"}).text;
    EXPECT_THAT(help, HasSubstr("Usage: phyllo " + name));
    EXPECT_THAT(help, HasSubstr("Examples:"));
    EXPECT_THAT(help, HasSubstr("--json-lines"));
  }
}

}  // namespace
}  // namespace phyllo
