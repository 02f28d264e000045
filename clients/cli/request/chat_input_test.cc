#include "clients/cli/request/chat_input.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::Eq;
using ::testing::Field;
using ::testing::Optional;

auto Turn(const std::string& text) {
  return Optional(AllOf(Field(&ChatEntry::command, Eq("")), Field(&ChatEntry::text, Eq(text))));
}

auto Command(const std::string& name, const std::string& text) {
  return Optional(AllOf(Field(&ChatEntry::command, Eq(name)), Field(&ChatEntry::text, Eq(text))));
}

TEST(ChatInputTest, ALineIsATurn) {
  EXPECT_THAT(ChatInput().Add(" Who are you? "), Turn("Who are you?"));
}

TEST(ChatInputTest, ABlankLineIsNothing) { EXPECT_EQ(ChatInput().Add("  "), std::nullopt); }

TEST(ChatInputTest, ASlashMakesACommand) {
  EXPECT_THAT(ChatInput().Add("/set temperature  0.5"), Command("set", "temperature  0.5"));
  EXPECT_THAT(ChatInput().Add("/help"), Command("help", ""));
}

TEST(ChatInputTest, TwoSlashesMakeATurn) { EXPECT_THAT(ChatInput().Add("//etc"), Turn("/etc")); }

TEST(ChatInputTest, QuotesSpanLines) {
  ChatInput input;
  EXPECT_EQ(input.Add("\"\"\"first"), std::nullopt);
  EXPECT_TRUE(input.is_open());
  EXPECT_EQ(input.Add(""), std::nullopt);
  EXPECT_EQ(input.Add("  /third"), std::nullopt);
  EXPECT_THAT(input.Add("last\"\"\""), Turn("first\n\n  /third\nlast"));
  EXPECT_FALSE(input.is_open());
}

TEST(ChatInputTest, QuotesOnLinesOfTheirOwnAddNoLineBefore) {
  ChatInput input;
  EXPECT_EQ(input.Add("\"\"\""), std::nullopt);
  EXPECT_EQ(input.Add("text"), std::nullopt);
  EXPECT_THAT(input.Add("\"\"\""), Turn("text\n"));
}

TEST(ChatInputTest, QuotesMayCloseOnTheSameLine) {
  EXPECT_THAT(ChatInput().Add("\"\"\" one \"\"\""), Turn(" one "));
}

TEST(ChatInputTest, ResetDropsAnOpenTurn) {
  ChatInput input;
  input.Add("\"\"\"half");
  input.Reset();
  EXPECT_THAT(input.Add("new"), Turn("new"));
}

}  // namespace

// So that a failed test shows the entry.
void PrintTo(const ChatEntry& entry, std::ostream* stream) {
  *stream << "/" << entry.command << " \"" << entry.text << "\"";
}

}  // namespace phyllo
