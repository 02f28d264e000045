#include "services/tokenizer/chat_conversion.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::phyllo::common::v1::Chat;
using ::phyllo::common::v1::ChatMessage;
using ::testing::HasSubstr;

Chat ChatWithOneMessage() {
  Chat chat;
  ChatMessage& message = *chat.add_messages();
  message.set_role("user");
  message.set_content("Say \"hi\"");
  return chat;
}

TEST(ConvertChatTest, WritesMessagesAsJsonInOrder) {
  Chat chat = ChatWithOneMessage();
  ChatMessage& answer = *chat.add_messages();
  answer.set_role("assistant");
  answer.add_tool_calls_json(R"({"name":"f","arguments":{"b":1,"a":2}})");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ConvertChat(chat, false));
  EXPECT_EQ(
      request.messages_json,
      R"([{"role":"user","content":"Say \"hi\""},{"role":"assistant","tool_calls":[{"name":"f","arguments":{"b":1,"a":2}}]}])");
  EXPECT_EQ(request.tools_json, "");
  EXPECT_EQ(request.kwargs_json, "");
}

TEST(ConvertChatTest, OpensAssistantTurnUnlessToldNot) {
  Chat chat = ChatWithOneMessage();
  EXPECT_TRUE(ConvertChat(chat, false)->add_generation_prompt);
  chat.set_add_generation_prompt(false);
  EXPECT_FALSE(ConvertChat(chat, false)->add_generation_prompt);
}

TEST(ConvertChatTest, ParsesSpecialTokensOnlyOnRequest) {
  EXPECT_FALSE(ConvertChat(ChatWithOneMessage(), false)->parse_special_tokens_in_content);
  EXPECT_TRUE(ConvertChat(ChatWithOneMessage(), true)->parse_special_tokens_in_content);
}

TEST(ConvertChatTest, RejectsChatWithoutMessages) {
  EXPECT_EQ(GetInvalidField(ConvertChat(Chat(), false).status()), "chat.messages");
}

TEST(ConvertChatTest, NamesMessageWithoutRole) {
  Chat chat = ChatWithOneMessage();
  chat.add_messages()->set_content("x");
  EXPECT_EQ(GetInvalidField(ConvertChat(chat, false).status()), "chat.messages[1].role");
}

TEST(ConvertChatTest, NamesToolThatIsNoJsonObject) {
  Chat chat = ChatWithOneMessage();
  chat.add_tools_json("{}");
  chat.add_tools_json("[1]");
  EXPECT_EQ(GetInvalidField(ConvertChat(chat, false).status()), "chat.tools_json[1]");
}

TEST(ConvertChatTest, RejectsArgumentsNestedTooDeep) {
  Chat chat = ChatWithOneMessage();
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += "[";
  chat.set_template_arguments_json(deep);
  EXPECT_THAT(ConvertChat(chat, false).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chat.template_arguments_json: is nested deeper than 64")));
}

// An object of `count` keys.
std::string ObjectOfKeys(int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, i > 0 ? "," : "", "\"", i, "\":0");
  return text + "}";
}

TEST(ConvertChatTest, RejectsObjectOfTooManyKeys) {
  Chat chat = ChatWithOneMessage();
  chat.add_tools_json(ObjectOfKeys(1024));
  PHYLLO_EXPECT_OK(ConvertChat(chat, false).status());
  chat.add_tools_json(absl::StrCat("{\"a\":[", ObjectOfKeys(1025), "]}"));
  EXPECT_THAT(ConvertChat(chat, false).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chat.tools_json[1]: has an object of more than 1024 keys")));
}

TEST(ConvertChatTest, CountsNeitherBracketsNorColonsInsideStrings) {
  const std::string text =
      absl::StrCat(R"({"a":"\"\\)", std::string(2000, '{'), std::string(2000, ':'), "\"}");
  Chat chat = ChatWithOneMessage();
  chat.set_template_arguments_json(text);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ConvertChat(chat, false));
  EXPECT_EQ(request.kwargs_json, text);
}

TEST(ConvertChatTest, TakesALongListOfObjects) {
  std::string text = "{\"a\":[{}";
  for (int i = 0; i < 300'000; ++i) text += ",{}";
  text += "]}";
  Chat chat = ChatWithOneMessage();
  chat.add_tools_json(text);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ConvertChat(chat, false));
  EXPECT_EQ(request.tools_json, absl::StrCat("[", text, "]"));
}

}  // namespace
}  // namespace phyllo
