#include "clients/cli/commands.h"

#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cpp/testing/fake_gateway.h"
#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Commands against a fake gateway; nothing is a terminal.
class CommandsTest : public ::testing::Test {
 protected:
  nlohmann::ordered_json OutAsJson() {
    return nlohmann::ordered_json::parse(out_.str(), nullptr, false);
  }

  // Answers every request with the text it brought.
  void Echo() {
    gateway_.on_generate = [this](grpc::ServerContext&, const gateway::v1::GenerateRequest& request,
                                  FakeGateway::GenerateWriter& writer) {
      {
        absl::MutexLock lock(&mutex_);
        requests_.push_back(request);
      }
      const std::string text =
          request.has_chat() ? request.chat().messages(request.chat().messages_size() - 1).content()
                             : request.text();
      if (text == "fail") return ToGrpcStatus(absl::InternalError("it failed"));
      writer.Write(DeltaMessage("<" + text + ">"));
      writer.Write(FinishedMessage());
      return grpc::Status::OK;
    };
  }

  RunOptions Prompt(const std::string& prompt) {
    RunOptions options;
    options.target.address = gateway_.address();
    options.prompt = prompt;
    return options;
  }

  int ChatLines(const std::vector<std::string>& lines) {
    ChatOptions options;
    options.target.address = gateway_.address();
    auto next = lines.begin();
    const auto read_line = [&](std::string& line) {
      if (next == lines.end()) return LineReader::Result::kEnd;
      line = *next++;
      return LineReader::Result::kLine;
    };
    return ChatCommand(options, read_line, terminal_, interrupts_);
  }

  Interrupts interrupts_;
  FakeGateway gateway_;
  std::stringstream in_, out_, err_;
  Terminal terminal_ = {in_, out_, err_};
  absl::Mutex mutex_;
  std::vector<gateway::v1::GenerateRequest> requests_;
};

TEST_F(CommandsTest, RunSendsThePromptAsItIs) {
  Echo();
  EXPECT_EQ(RunCommand(Prompt("a b"), terminal_, interrupts_), kExitOk);
  EXPECT_EQ(out_.str(), "<a b>\n");
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandsTest, RunReadsThePromptFromStandardInput) {
  Echo();
  in_ << "line one\nline two";
  EXPECT_EQ(RunCommand(Prompt("-"), terminal_, interrupts_), kExitOk);
  EXPECT_EQ(out_.str(), "<line one\nline two>\n");
}

TEST_F(CommandsTest, RunWithChatSendsTurns) {
  Echo();
  RunOptions options = Prompt("Hi");
  options.chat = true;
  options.system = "Be brief.";
  EXPECT_EQ(RunCommand(options, terminal_, interrupts_), kExitOk);
  ASSERT_EQ(requests_[0].chat().messages_size(), 2);
  EXPECT_EQ(requests_[0].chat().messages(0).role(), "system");
  EXPECT_EQ(requests_[0].chat().messages(1).content(), "Hi");
}

TEST_F(CommandsTest, RunWithJsonWritesOneObject) {
  Echo();
  RunOptions options = Prompt("a");
  options.json = true;
  EXPECT_EQ(RunCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_EQ(OutAsJson()["choices"][0]["answer"]["text"], "<a>");
  EXPECT_EQ(OutAsJson()["choices"][0]["finished"]["finish_reason"], "FINISH_REASON_EOS");
}

TEST_F(CommandsTest, RunReportsTheServersError) {
  Echo();
  EXPECT_EQ(RunCommand(Prompt("fail"), terminal_, interrupts_), kExitError);
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "phyllo: INTERNAL: it failed\n");
}

TEST_F(CommandsTest, RunReportsTheServersErrorAsJson) {
  Echo();
  RunOptions options = Prompt("fail");
  options.json = true;
  EXPECT_EQ(RunCommand(options, terminal_, interrupts_), kExitError);
  EXPECT_EQ(OutAsJson()["error"]["code"], "INTERNAL");
}

TEST_F(CommandsTest, RunReturnsUnavailableWhenNobodyListens) {
  gateway_.Stop();
  EXPECT_EQ(RunCommand(Prompt("a"), terminal_, interrupts_), kExitUnavailable);
  EXPECT_THAT(err_.str(), HasSubstr(gateway_.address()));
}

TEST_F(CommandsTest, GenerateSendsIds) {
  Echo();
  GenerateOptions options;
  options.run = Prompt("");
  options.ids = {4, 5};
  EXPECT_EQ(GenerateCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_THAT(requests_[0].token_ids().ids(), ElementsAre(4, 5));
}

TEST_F(CommandsTest, GenerateAnswersJsonLinesInTheirOrder) {
  Echo();
  GenerateOptions options;
  options.run = Prompt("");
  options.json_lines = true;
  options.concurrency = 4;
  for (int i = 0; i < 40; ++i) in_ << R"({"text": ")" << i << "\"}\n\n";

  EXPECT_EQ(GenerateCommand(options, terminal_, interrupts_), kExitOk);

  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 40);
  for (int i = 0; i < 40; ++i) {
    const auto json = nlohmann::ordered_json::parse(lines[i], nullptr, false);
    EXPECT_EQ(json["choices"][0]["answer"]["text"], "<" + std::to_string(i) + ">");
  }
}

TEST_F(CommandsTest, GenerateGoesOnAfterALineThatFails) {
  Echo();
  GenerateOptions options;
  options.run = Prompt("");
  options.json_lines = true;
  in_ << "no json\n"
      << R"({"text": "fail"})"
      << "\n"
      << R"({"text": "a"})";

  EXPECT_EQ(GenerateCommand(options, terminal_, interrupts_), kExitError);

  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3);
  EXPECT_THAT(lines[0], HasSubstr("line 1: "));
  EXPECT_THAT(lines[1], HasSubstr("it failed"));
  EXPECT_THAT(lines[2], HasSubstr("<a>"));
}

TEST_F(CommandsTest, GenerateLinesTakeWhatTheyLeaveOpenFromTheFlags) {
  Echo();
  GenerateOptions options;
  options.run = Prompt("");
  options.run.request.mutable_sampling()->set_top_k(9);
  options.json_lines = true;
  in_ << R"({"text": "a", "sampling": {"temperature": 0}})";
  EXPECT_EQ(GenerateCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_EQ(requests_[0].sampling().top_k(), 9);
  EXPECT_TRUE(requests_[0].sampling().has_temperature());
}

TEST_F(CommandsTest, ChatSendsTheTurnsBefore) {
  Echo();
  EXPECT_EQ(ChatLines({"one", "two"}), kExitOk);
  EXPECT_EQ(out_.str(), "<one>\n<two>\n");
  ASSERT_EQ(requests_.size(), 2);
  ASSERT_EQ(requests_[1].chat().messages_size(), 3);
  EXPECT_EQ(requests_[1].chat().messages(1).role(), "assistant");
  EXPECT_EQ(requests_[1].chat().messages(1).content(), "<one>");
}

TEST_F(CommandsTest, ChatWritesNoPromptsIntoAPipe) {
  Echo();
  ChatLines({"one"});
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandsTest, ChatForgetsATurnThatFailed) {
  Echo();
  EXPECT_EQ(ChatLines({"fail", "one"}), kExitError);
  EXPECT_THAT(err_.str(), HasSubstr("it failed"));
  EXPECT_EQ(requests_[1].chat().messages_size(), 1);
}

TEST_F(CommandsTest, ChatCommandsChangeWhatIsSent) {
  Echo();
  ChatLines({"one", "/reset", "/system Be brief.", "/set temperature 0", "two",
             "/unset temperature", "/system", "three"});
  EXPECT_EQ(requests_[1].chat().messages(0).content(), "Be brief.");
  EXPECT_EQ(requests_[1].chat().messages_size(), 2);
  EXPECT_TRUE(requests_[1].sampling().has_temperature());
  EXPECT_FALSE(requests_[2].sampling().has_temperature());
  EXPECT_EQ(requests_[2].chat().messages(0).role(), "user");
}

TEST_F(CommandsTest, ChatSavesAndLoads) {
  Echo();
  const auto folder = TemporaryFolder::Create();
  ASSERT_TRUE(folder.ok());
  const std::string path = (*folder)->path() + "/chat.json";
  ChatLines({"one", "/save " + path, "/reset", "/load " + path, "two"});
  EXPECT_EQ(requests_[1].chat().messages_size(), 3);
}

TEST_F(CommandsTest, ChatExitEndsBeforeTheNextLine) {
  Echo();
  EXPECT_EQ(ChatLines({"/exit", "one"}), kExitOk);
  EXPECT_THAT(requests_, IsEmpty());
}

TEST_F(CommandsTest, ChatNamesAnUnknownCommand) {
  ChatLines({"/sing"});
  EXPECT_THAT(err_.str(), HasSubstr("/sing"));
}

TEST_F(CommandsTest, TokenizeShowsIdsWithTheirBytes) {
  gateway_.on_tokenize = [](const gateway::v1::TokenizeRequest& request,
                            gateway::v1::TokenizeResponse& response) {
    response.add_token_ids(7);
    response.add_tokens(request.text());
    response.add_token_ids(8);
    response.add_tokens("\xe4\n");
    return grpc::Status::OK;
  };
  TokenizeOptions options;
  options.target.address = gateway_.address();
  options.text = "a";
  EXPECT_EQ(TokenizeCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_THAT(out_.str(), StartsWith("7\ta\n8\t"));
  EXPECT_THAT(out_.str(), HasSubstr("\\n"));
}

TEST_F(CommandsTest, DetokenizeShowsTheText) {
  gateway_.on_detokenize = [](const gateway::v1::DetokenizeRequest& request,
                              gateway::v1::DetokenizeResponse& response) {
    response.set_text("ids: " + std::to_string(request.token_ids_size()));
    return grpc::Status::OK;
  };
  TokenizeOptions options;
  options.target.address = gateway_.address();
  options.detokenize = true;
  options.ids = {1, 2};
  EXPECT_EQ(TokenizeCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_EQ(out_.str(), "ids: 2\n");
}

TEST_F(CommandsTest, PsListsTheGatewayAndItsBackends) {
  gateway_.on_get_model = [](const gateway::v1::GetModelRequest&,
                             gateway::v1::GetModelResponse& response) {
    gateway::v1::Backend& backend = *response.add_backends();
    backend.set_service("transformer");
    backend.set_address("unix:/x/transformer.sock");
    backend.set_reason("connection refused");
    return grpc::Status::OK;
  };
  EXPECT_EQ(PsCommand({gateway_.address(), false}, terminal_), kExitOk);
  const std::vector<std::string> lines = absl::StrSplit(out_.str(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 3);
  EXPECT_THAT(lines[1], HasSubstr(gateway_.address()));
  EXPECT_THAT(lines[2], HasSubstr("not available: connection refused"));
}

TEST_F(CommandsTest, PsWritesJson) {
  gateway_.on_get_model = [](const gateway::v1::GetModelRequest&,
                             gateway::v1::GetModelResponse& response) {
    response.set_model("demo");
    return grpc::Status::OK;
  };
  EXPECT_EQ(PsCommand({gateway_.address(), true}, terminal_), kExitOk);
  EXPECT_EQ(OutAsJson()["model"], "demo");
}

}  // namespace
}  // namespace phyllo
