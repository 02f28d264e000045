// The command line with the real services and the demo model.
#include <signal.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"
#include "tests/integration/phyllo_program.h"

namespace phyllo {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Far beyond what the demo model needs, since tests share the machine.
constexpr absl::Duration kLong = absl::Seconds(120);

struct Ended {
  std::string how;
  std::string out;
  std::string err;
};

Ended RunToTheEnd(const std::vector<std::string>& arguments, const std::string& input = "") {
  auto program = PhylloProgram::Start(arguments, input);
  EXPECT_THAT(program, IsOk());
  if (!program.ok()) return {};
  const std::string how = (*program)->WaitForEnd(kLong);
  return {how, (*program)->out(), (*program)->err()};
}

json Parse(const std::string& text) { return json::parse(text, nullptr, false); }

// The case of the demo model's golden file whose prompt contains `text`.
json GoldenCase(const std::string& text) {
  std::ifstream file(std::string(getenv("TEST_SRCDIR")) +
                     "/phyllo/tests/golden/data/demo/golden.json");
  const json golden = Parse(std::string(std::istreambuf_iterator<char>(file), {}));
  for (const json& candidate : golden["cases"]) {
    if (candidate["text"].get<std::string>().find(text) != std::string::npos) return candidate;
  }
  ADD_FAILURE() << "no golden case with " << text;
  return {};
}

TEST(CliRunTest, GreedyTextEqualsTheGoldenOne) {
  const json golden = GoldenCase("in the green forest");
  const Ended run = RunToTheEnd({"run", golden["text"], "--temperature", "0", "--max-new-tokens",
                                 "120", "--precision", "f32"});
  EXPECT_EQ(run.how, "exit code 0");
  EXPECT_EQ(run.out, golden["output_text"].get<std::string>() + "\n");
}

TEST(CliRunTest, GreedyChatEqualsTheGoldenOne) {
  const std::string expected = GoldenCase("Who are you?")["output_text"];
  const Ended run =
      RunToTheEnd({"run", "--chat", "Who are you?", "--temperature", "0", "--precision", "f32"});
  EXPECT_EQ(run.how, "exit code 0");
  EXPECT_EQ(run.out, expected.substr(0, expected.find("<|im_end|>")) + "\n");
}

TEST(CliRunTest, WritesNoProgressIntoAPipe) {
  const Ended run = RunToTheEnd({"run", "Once upon a time", "--max-new-tokens", "3"});
  EXPECT_EQ(run.how, "exit code 0");
  EXPECT_THAT(run.out, Not(IsEmpty()));
  EXPECT_EQ(run.err, "");
}

TEST(CliRunTest, ReadsThePromptFromStandardInputAndRepeatsASeed) {
  const std::vector<std::string> arguments = {
      "run", "-", "--json", "--seed", "7", "--max-new-tokens", "20"};
  const json first = Parse(RunToTheEnd(arguments, "Once upon a time").out);
  const json second = Parse(RunToTheEnd(arguments, "Once upon a time").out);
  EXPECT_THAT(first["choices"][0]["answer"]["text"].get<std::string>(), Not(IsEmpty()));
  EXPECT_EQ(first["choices"][0]["answer"], second["choices"][0]["answer"]);
  EXPECT_EQ(first["choices"][0]["finished"]["resolved"]["sampling"]["seed"], 7);
}

TEST(CliRunTest, AnOutOfRangeParameterIsAUsageError) {
  const Ended run = RunToTheEnd({"run", "x", "--top-p", "1.5"});
  EXPECT_EQ(run.how, "exit code 2");
  EXPECT_THAT(run.err, HasSubstr("top_p"));
}

TEST(CliRunTest, AMissingModelFolderIsNamed) {
  const Ended run = RunToTheEnd({"run", "/none/such", "x"});
  EXPECT_EQ(run.how, "exit code 4");
  EXPECT_THAT(run.err, HasSubstr("/none/such"));
}

TEST(CliRunTest, AFolderWithoutAModelIsAModelError) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto folder, TemporaryFolder::Create());
  const Ended run = RunToTheEnd({"run", folder->path(), "x"});
  EXPECT_EQ(run.how, "exit code 4");
  EXPECT_THAT(run.err, HasSubstr("service ended with exit code 1"));
}

TEST(CliRunTest, AnUnknownFlagIsAUsageError) {
  const Ended run = RunToTheEnd({"run", "x", "--temprature", "1"});
  EXPECT_EQ(run.how, "exit code 2");
  EXPECT_THAT(run.err, HasSubstr("--temprature"));
}

TEST(CliInspectTest, CountsTheDemoModelsParameters) {
  const Ended inspect = RunToTheEnd({"inspect", "--json"});
  EXPECT_EQ(inspect.how, "exit code 0");
  EXPECT_EQ(Parse(inspect.out)["parameter_count"], 2'534'208);
}

TEST(CliPsTest, NobodyListeningIsUnavailable) {
  const Ended ps = RunToTheEnd({"ps", "--address", "127.0.0.1:1"});
  EXPECT_EQ(ps.how, "exit code 3");
  EXPECT_THAT(ps.err, HasSubstr("127.0.0.1:1"));
}

TEST(CliChatTest, RemembersTurns) {
  const Ended chat = RunToTheEnd({"chat", "--json", "--temperature", "0", "--max-new-tokens", "8"},
                                 "Who are you?\nWho are you?\n");
  EXPECT_EQ(chat.how, "exit code 0");
  const std::vector<std::string> lines = absl::StrSplit(chat.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2);
  const auto prompt_tokens = [](const std::string& line) {
    return Parse(line)["choices"][0]["finished"]["usage"]["prompt_token_count"].get<int64_t>();
  };
  EXPECT_GT(prompt_tokens(lines[1]), 2 * prompt_tokens(lines[0]));
}

// With services that another `phyllo` keeps up.
class CliUpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(up_,
                                PhylloProgram::Start({"up", "--address", "127.0.0.1:0", "--json"}));
    addresses_ = Parse(up_->WaitForLine(kLong));
    ASSERT_TRUE(addresses_.is_object()) << up_->err();
    address_ = addresses_["gateway"]["address"];
  }

  pid_t pid(const std::string& service) const { return addresses_[service]["pid"].get<pid_t>(); }

  std::unique_ptr<PhylloProgram> up_;
  json addresses_;
  std::string address_;
};

TEST_F(CliUpTest, PsListsFourServers) {
  const Ended ps = RunToTheEnd({"ps", "--address", address_, "--json"});
  EXPECT_EQ(ps.how, "exit code 0");
  const json model = Parse(ps.out);
  EXPECT_EQ(model["model"], "demo");
  ASSERT_EQ(model["backends"].size(), 3);
  for (const json& backend : model["backends"]) EXPECT_EQ(backend["available"], true) << backend;
}

TEST_F(CliUpTest, DetokenizeGivesBackWhatTokenizeTook) {
  const std::string text = "Once upon a time, 从前";
  const json tokens = Parse(RunToTheEnd({"tokenize", "--address", address_, "--json", text}).out);
  ASSERT_GT(tokens["token_ids"].size(), 3);
  const Ended detokenize =
      RunToTheEnd({"detokenize", "--address", address_, tokens["token_ids"].dump()});
  EXPECT_EQ(detokenize.out, text + "\n");
}

TEST_F(CliUpTest, GenerateAnswersJsonLinesInOrder) {
  const Ended generate = RunToTheEnd({"generate", "--address", address_, "--json-lines",
                                      "--concurrency", "4", "--temperature", "0"},
                                     "{\"text\": \"Once\", \"stopping\": {\"max_new_tokens\": "
                                     "9}}\n{\"text\": \"Once\", \"stopping\": "
                                     "{\"max_new_tokens\": 1}}\n{\"chat\": {}}\n");
  EXPECT_EQ(generate.how, "exit code 1");
  const std::vector<std::string> lines = absl::StrSplit(generate.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3);
  EXPECT_EQ(Parse(lines[0])["choices"][0]["finished"]["usage"]["generated_token_count"], 9);
  EXPECT_EQ(Parse(lines[1])["choices"][0]["finished"]["usage"]["generated_token_count"], 1);
  EXPECT_EQ(Parse(lines[2])["error"]["code"], "INVALID_ARGUMENT");
}

TEST_F(CliUpTest, CtrlCEndsAnAnswerWith130) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const auto generate, PhylloProgram::Start({"generate", "--address", address_, "--ignore-eos",
                                                 "Once upon a time"}));
  for (const absl::Time deadline = absl::Now() + kLong;
       generate->out().empty() && absl::Now() < deadline;) {
    ASSERT_FALSE(generate->process().WaitForEnd(absl::Milliseconds(10))) << generate->err();
  }
  ASSERT_EQ(kill(generate->process().pid(), SIGINT), 0);
  EXPECT_EQ(generate->WaitForEnd(kLong), "exit code 130");
}

TEST_F(CliUpTest, CtrlCEndsAllServices) {
  ASSERT_EQ(kill(up_->process().pid(), SIGINT), 0);
  EXPECT_EQ(up_->WaitForEnd(kLong), "exit code 0");
  for (const char* const service : {"tokenizer", "embedding", "transformer", "gateway"})
    EXPECT_EQ(kill(pid(service), 0), -1) << service;
}

TEST_F(CliUpTest, ADeadServiceIsStartedAgain) {
  ASSERT_EQ(kill(pid("embedding"), SIGKILL), 0);
  const auto answer = [&] {
    return RunToTheEnd({"generate", "--address", address_, "--max-new-tokens", "1", "Once"}).how;
  };
  std::string how = answer();
  for (const absl::Time deadline = absl::Now() + kLong;
       how == "exit code 3" && absl::Now() < deadline;)
    how = answer();
  EXPECT_EQ(how, "exit code 0");
}

}  // namespace
}  // namespace phyllo
