#include "model/tokenizer/decoding/decode_stage.h"

#include <string>

#include "gtest/gtest.h"

namespace phyllo {
namespace {

// What a stage hands on for a piece; text of the prompt in brackets.
std::string Push(DecodeStage* stage, absl::string_view text, bool from_prompt = false) {
  std::string out;
  stage->Push({text, false, from_prompt}, [&](const DecodePiece& piece) {
    out += piece.from_prompt ? "[" + std::string(piece.text) + "]" : std::string(piece.text);
  });
  return out;
}

std::string Finish(DecodeStage* stage) {
  std::string out;
  stage->Finish([&](const DecodePiece& piece) {
    out += piece.from_prompt ? "[" + std::string(piece.text) + "]" : std::string(piece.text);
  });
  return out;
}

TEST(DecodeStageTest, ByteLevelHoldsUnfinishedCharacter) {
  const auto stage = MakeByteLevelStage();
  EXPECT_EQ(Push(stage.get(), "aä½"), "a");
  EXPECT_EQ(Push(stage.get(), "ł"), "你");
  EXPECT_EQ(Push(stage.get(), "ä"), "");
  EXPECT_EQ(Finish(stage.get()), "\uFFFD");
}

TEST(DecodeStageTest, CharacterBegunInPromptIsGivenOutWhole) {
  const auto stage = MakeByteLevelStage();
  EXPECT_EQ(Push(stage.get(), "aä½", /*from_prompt=*/true), "[a]");
  EXPECT_EQ(Push(stage.get(), "łb"), "你b");
}

TEST(DecodeStageTest, UnfinishedCharacterOfPromptStaysThePrompts) {
  const auto stage = MakeByteLevelStage();
  EXPECT_EQ(Push(stage.get(), "ä½", /*from_prompt=*/true), "");
  EXPECT_EQ(Push(stage.get(), "b"), "[\uFFFD]b");
}

TEST(DecodeStageTest, ByteFallbackHoldsRunUntilItEnds) {
  const auto stage = MakeByteFallbackStage(100);
  EXPECT_EQ(Push(stage.get(), "<0xC3>"), "");
  EXPECT_EQ(Push(stage.get(), "<0xA9>"), "");
  EXPECT_EQ(Push(stage.get(), "x"), "éx");
}

TEST(DecodeStageTest, ByteFallbackSharesRunWithPrompt) {
  const auto stage = MakeByteFallbackStage(100);
  Push(stage.get(), "<0x41>", /*from_prompt=*/true);
  Push(stage.get(), "<0xC3>", /*from_prompt=*/true);
  Push(stage.get(), "<0xA9>");
  EXPECT_EQ(Finish(stage.get()), "[A]é");
}

TEST(DecodeStageTest, LongRunIsGivenOutByCharacters) {
  const auto stage = MakeByteFallbackStage(4);
  std::string out;
  for (int i = 0; i < 4; ++i) out += Push(stage.get(), "<0x41>");
  EXPECT_EQ(out, "");
  EXPECT_EQ(Push(stage.get(), "<0xC3>"), "AAAA");
  EXPECT_EQ(Push(stage.get(), "<0xA9>"), "");
  EXPECT_EQ(Finish(stage.get()), "é");
}

TEST(DecodeStageTest, ByteTokensAreExact) {
  EXPECT_EQ(ByteOfToken("<0x0A>"), 10);
  EXPECT_EQ(ByteOfToken("<0xff>"), 255);
  EXPECT_EQ(ByteOfToken("<0xG0>"), -1);
  EXPECT_EQ(ByteOfToken("<0x0A> "), -1);
}

}  // namespace
}  // namespace phyllo
