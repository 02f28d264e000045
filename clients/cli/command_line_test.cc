#include "clients/cli/command_line.h"

#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <typename Options>
Options Parse(const std::vector<std::string>& arguments,
              const CommandEnvironment& environment = {}) {
  const absl::StatusOr<CommandLine> command = ParseCommandLine(arguments, environment);
  EXPECT_THAT(command, IsOk());
  if (!command.ok() || !std::holds_alternative<Options>(*command)) {
    ADD_FAILURE() << "another command or an error";
    return Options();
  }
  return std::get<Options>(*command);
}

absl::Status ParseError(const std::vector<std::string>& arguments) {
  return ParseCommandLine(arguments, {}).status();
}

TEST(CommandLineTest, RunTakesThePromptAlone) {
  const auto run = Parse<RunOptions>({"run", "Once upon a time"});
  EXPECT_EQ(run.prompt, "Once upon a time");
  EXPECT_EQ(run.target.model, "");
  EXPECT_EQ(run.target.address, "");
  EXPECT_EQ(run.request.ByteSizeLong(), 0);
}

TEST(CommandLineTest, RunTakesModelAndPrompt) {
  const auto run = Parse<RunOptions>({"run", "/models/x", "hello"});
  EXPECT_EQ(run.target.model, "/models/x");
  EXPECT_EQ(run.prompt, "hello");
}

TEST(CommandLineTest, RunTakesDashAsPrompt) {
  EXPECT_EQ(Parse<RunOptions>({"run", "-"}).prompt, "-");
}

TEST(CommandLineTest, RunTakesAPromptThatLooksLikeAnOptionAfterTwoDashes) {
  EXPECT_EQ(Parse<RunOptions>({"run", "--", "--json"}).prompt, "--json");
}

TEST(CommandLineTest, RunNeedsAPrompt) {
  EXPECT_THAT(ParseError({"run"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prompt is needed")));
}

TEST(CommandLineTest, RunRefusesAThirdWord) {
  EXPECT_THAT(ParseError({"run", "a", "b", "c"}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CommandLineTest, RunRefusesAThirdWordAfterTwoDashes) {
  EXPECT_THAT(ParseError({"run", "a", "b", "--", "c"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"c\"")));
}

TEST(CommandLineTest, SettingsMayStandBeforeAndAfterThePrompt) {
  const auto run = Parse<RunOptions>({"run", "--temperature", "0", "hello", "--top-k=3"});
  EXPECT_EQ(run.prompt, "hello");
  EXPECT_TRUE(run.request.sampling().has_temperature());
  EXPECT_EQ(run.request.sampling().top_k(), 3);
}

TEST(CommandLineTest, ARepeatableSettingTakesOneValueEachTime) {
  const auto run = Parse<RunOptions>({"run", "--stop", "a", "--stop", "b", "hello"});
  EXPECT_THAT(run.request.stop_sequences(), ElementsAre("a", "b"));
  EXPECT_EQ(run.prompt, "hello");
}

TEST(CommandLineTest, NegativeValuesAreValues) {
  EXPECT_EQ(Parse<RunOptions>({"run", "--presence-penalty", "-1.5", "x"})
                .request.sampling()
                .presence_penalty(),
            -1.5f);
}

TEST(CommandLineTest, BooleanSettingsTakeNoValue) {
  const auto run = Parse<RunOptions>({"run", "--ignore-eos", "hello"});
  EXPECT_TRUE(run.request.stopping().ignore_eos());
  EXPECT_EQ(run.prompt, "hello");
}

TEST(CommandLineTest, ABooleanSettingCanBeTurnedOff) {
  const auto run = Parse<RunOptions>({"run", "--add-special-tokens=false", "hello"});
  EXPECT_TRUE(run.request.has_add_special_tokens());
  EXPECT_FALSE(run.request.add_special_tokens());
}

TEST(CommandLineTest, WrongValueNamesTheFlag) {
  EXPECT_THAT(ParseError({"run", "--top-k", "many", "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--top-k: \"many\"")));
}

TEST(CommandLineTest, UnknownFlagIsNamed) {
  EXPECT_THAT(ParseError({"run", "--temprature", "1", "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--temprature")));
}

TEST(CommandLineTest, SystemImpliesChat) {
  EXPECT_TRUE(Parse<RunOptions>({"run", "--system", "Be brief.", "x"}).chat);
}

TEST(CommandLineTest, TimeoutIsRead) {
  EXPECT_EQ(Parse<RunOptions>({"run", "--timeout", "30s", "x"}).timeout, absl::Seconds(30));
}

TEST(CommandLineTest, TimeoutMustBeATime) {
  EXPECT_THAT(ParseError({"run", "--timeout", "soon", "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--timeout")));
}

TEST(CommandLineTest, ModelPathsAreSeenFromTheUsersFolder) {
  const CommandEnvironment environment = {"", "/home/user"};
  EXPECT_EQ(Parse<RunOptions>({"run", "models/x", "hello"}, environment).target.model,
            "/home/user/models/x");
  EXPECT_EQ(Parse<RunOptions>({"run", "/models/x", "hello"}, environment).target.model,
            "/models/x");
  EXPECT_EQ(Parse<InspectOptions>({"inspect", "../x"}, environment).model, "/home/x");
}

TEST(CommandLineTest, ServiceFlagsGoToTheirService) {
  const auto up = Parse<UpOptions>(
      {"up", "--threads", "2", "--flag", "gateway.max_waiting=5", "--flag", "transformer.x=y"});
  EXPECT_THAT(up.target.service_flags[static_cast<int>(ServiceKind::kTransformer)],
              ElementsAre("--threads=2", "--x=y"));
  EXPECT_THAT(up.target.service_flags[static_cast<int>(ServiceKind::kGateway)],
              ElementsAre("--max_waiting=5"));
  EXPECT_THAT(up.target.service_flags[static_cast<int>(ServiceKind::kTokenizer)], IsEmpty());
}

TEST(CommandLineTest, PackedCacheGoesToTheServicesThatReadWeights) {
  const CommandEnvironment environment = {"", "/home/user"};
  const auto up = Parse<UpOptions>({"up", "--packed-cache", "cache"}, environment);
  EXPECT_THAT(up.target.service_flags[static_cast<int>(ServiceKind::kTransformer)],
              ElementsAre("--packed_cache=/home/user/cache"));
  EXPECT_THAT(up.target.service_flags[static_cast<int>(ServiceKind::kEmbedding)],
              ElementsAre("--packed_cache=/home/user/cache"));
  const auto run = Parse<RunOptions>({"run", "--packed-cache", "off", "x"}, environment);
  EXPECT_THAT(run.target.service_flags[static_cast<int>(ServiceKind::kTransformer)],
              ElementsAre("--packed_cache=off"));
}

TEST(CommandLineTest, ServiceFlagOfNoServiceIsRefused) {
  EXPECT_THAT(ParseError({"up", "--flag", "engine.x=y"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("engine.x=y")));
}

TEST(CommandLineTest, AddressComesFromTheFlagThenTheEnvironmentThenTheDefault) {
  const CommandEnvironment environment = {"env:1", ""};
  EXPECT_EQ(Parse<PsOptions>({"ps", "--address", "flag:1"}, environment).address, "flag:1");
  EXPECT_EQ(Parse<PsOptions>({"ps"}, environment).address, "env:1");
  EXPECT_EQ(Parse<PsOptions>({"ps"}).address, kDefaultAddress);
  EXPECT_EQ(Parse<TokenizeOptions>({"tokenize", "x"}, environment).target.address, "env:1");
}

TEST(CommandLineTest, GenerateWithAModelNeedsNoAddress) {
  const auto generate = Parse<GenerateOptions>({"generate", "--model", "/m", "x"}, {"env:1", ""});
  EXPECT_EQ(generate.run.target.model, "/m");
  EXPECT_EQ(generate.run.target.address, "");
}

TEST(CommandLineTest, GenerateRefusesModelAndAddress) {
  EXPECT_THAT(ParseError({"generate", "--model", "/m", "--address", "a:1", "x"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CommandLineTest, GenerateTakesIds) {
  EXPECT_THAT(Parse<GenerateOptions>({"generate", "--ids", "1, 2,3"}).ids, ElementsAre(1, 2, 3));
}

TEST(CommandLineTest, GenerateNeedsExactlyOnePrompt) {
  EXPECT_THAT(ParseError({"generate"}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseError({"generate", "x", "--json-lines"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(CommandLineTest, DetokenizeTakesManyIds) {
  const auto detokenize = Parse<TokenizeOptions>({"detokenize", "1", "2,3", "[4, 5]"});
  EXPECT_TRUE(detokenize.detokenize);
  EXPECT_THAT(detokenize.ids, ElementsAre(1, 2, 3, 4, 5));
}

TEST(CommandLineTest, DetokenizeRefusesWhatIsNoId) {
  EXPECT_THAT(ParseError({"detokenize", "one"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"one\" is no token id")));
}

TEST(CommandLineTest, TokenizeCanLeaveOutAddedTokens) {
  EXPECT_FALSE(Parse<TokenizeOptions>({"tokenize", "--no-added-tokens", "x"}).add_special_tokens);
  EXPECT_TRUE(Parse<TokenizeOptions>({"tokenize", "x"}).add_special_tokens);
}

TEST(CommandLineTest, ChatReadsItsOptions) {
  const auto chat =
      Parse<ChatOptions>({"chat", "/m", "--system", "Be brief.", "--temperature", "0.5"});
  EXPECT_EQ(chat.target.model, "/m");
  EXPECT_EQ(chat.system, "Be brief.");
  EXPECT_EQ(chat.request.sampling().temperature(), 0.5f);
}

TEST(CommandLineTest, ACommandIsNeeded) {
  EXPECT_THAT(ParseError({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a command is needed")));
}

TEST(CommandLineTest, MainHelpListsCommandsAndExitCodes) {
  const std::string text = Parse<HelpOptions>({"--help"}).text;
  for (const char* const word : {"run", "chat", "up", "generate", "tokenize", "detokenize",
                                 "inspect", "ps", "Exit codes", "130"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
}

TEST(CommandLineTest, EveryCommandHelpsWithExamplesEvenIfSomethingIsMissing) {
  for (const char* const name :
       {"run", "chat", "up", "generate", "tokenize", "detokenize", "inspect", "ps"}) {
    const std::string text = Parse<HelpOptions>({name, "--help"}).text;
    EXPECT_THAT(text, HasSubstr(std::string("Usage: phyllo ") + name));
    EXPECT_THAT(text, HasSubstr("Examples:"));
    EXPECT_THAT(text, HasSubstr("--json"));
  }
}

TEST(CommandLineTest, VersionIsShown) {
  EXPECT_THAT(Parse<HelpOptions>({"--version"}).text, HasSubstr("phyllo "));
}

}  // namespace
}  // namespace phyllo
