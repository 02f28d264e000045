#include "clients/cli/request/conversation.h"

#include <fstream>
#include <memory>

#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Turns(const common::v1::Chat& chat) {
  std::vector<std::string> turns;
  for (const common::v1::ChatMessage& message : chat.messages())
    turns.push_back(message.role() + ": " + message.content());
  return turns;
}

TEST(ConversationTest, AskSendsAllTurnsAndParameters) {
  gateway::v1::GenerateRequest parameters;
  parameters.mutable_sampling()->set_top_k(3);
  Conversation conversation("Be brief.", parameters);
  conversation.AddExchange("Hi", "Hello");

  const gateway::v1::GenerateRequest request = conversation.Ask("Who are you?");

  EXPECT_THAT(Turns(request.chat()), ElementsAre("system: Be brief.", "user: Hi",
                                                 "assistant: Hello", "user: Who are you?"));
  EXPECT_EQ(request.sampling().top_k(), 3);
}

TEST(ConversationTest, AskAloneAddsNothing) {
  const Conversation conversation("", {});
  conversation.Ask("Hi");
  EXPECT_EQ(conversation.turns().messages_size(), 0);
}

TEST(ConversationTest, ResetKeepsTheSystemTurn) {
  Conversation conversation("Be brief.", {});
  conversation.AddExchange("Hi", "Hello");
  conversation.Reset();
  EXPECT_THAT(Turns(conversation.turns()), ElementsAre("system: Be brief."));
}

TEST(ConversationTest, SetSystemReplacesOrRemovesIt) {
  Conversation conversation("Be brief.", {});
  conversation.AddExchange("Hi", "Hello");
  conversation.SetSystem("Rhyme.");
  EXPECT_THAT(Turns(conversation.turns()),
              ElementsAre("system: Rhyme.", "user: Hi", "assistant: Hello"));
  conversation.SetSystem("");
  EXPECT_THAT(Turns(conversation.turns()), ElementsAre("user: Hi", "assistant: Hello"));
}

class ConversationFileTest : public ::testing::Test {
 protected:
  void SetUp() override { PHYLLO_ASSERT_OK_AND_ASSIGN(folder_, TemporaryFolder::Create()); }
  std::string Path() const { return folder_->path() + "/chat.json"; }

  std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(ConversationFileTest, LoadsWhatWasSaved) {
  Conversation saved("Be brief.", {});
  saved.AddExchange("\"Hi\"\n", "你好");
  PHYLLO_ASSERT_OK(saved.Save(Path()));
  Conversation loaded("", {});
  PHYLLO_ASSERT_OK(loaded.Load(Path()));
  EXPECT_EQ(loaded.turns().DebugString(), saved.turns().DebugString());
}

TEST_F(ConversationFileTest, ReturnsNotFoundWithoutFile) {
  EXPECT_THAT(Conversation("", {}).Load(Path()), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(ConversationFileTest, ReturnsInvalidArgumentAndKeepsTurnsWhenTheFileIsSomethingElse) {
  std::ofstream(Path()) << "text";
  Conversation conversation("Be brief.", {});
  EXPECT_THAT(conversation.Load(Path()), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(conversation.turns().messages_size(), 1);
}

TEST_F(ConversationFileTest, ReturnsPermissionDeniedWhenTheFileCannotBeWritten) {
  EXPECT_THAT(Conversation("", {}).Save(folder_->path()),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace phyllo
