#include "model/tokenizer/decoding/sentencepiece_stage.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/tokenizer/decoding/decode_stage.h"

namespace phyllo {
namespace {

SentencePieceDecoding Decoding() {
  SentencePieceDecoding decoding;
  decoding.unk_piece = "<unk>";
  decoding.unk_surface = " ? ";
  decoding.drop_first_mark = true;
  decoding.byte_fallback = true;
  return decoding;
}

std::string Decode(const SentencePieceDecoding& decoding, const std::vector<std::string>& tokens) {
  const auto stage = MakeSentencePieceStage(decoding);
  std::string text;
  const auto sink = [&](const DecodePiece& piece) { text += std::string(piece.text); };
  for (const std::string& token : tokens) stage->Push({token}, sink);
  stage->Finish(sink);
  return text;
}

TEST(SentencePieceStageTest, FirstMarkIsDropped) {
  EXPECT_EQ(Decode(Decoding(), {"▁a", "▁b"}), "a b");
  EXPECT_EQ(Decode(Decoding(), {"▁", "▁b"}), " b");
  SentencePieceDecoding all = Decoding();
  all.drop_all_first_marks = true;
  EXPECT_EQ(Decode(all, {"▁", "▁b", "▁"}), "b ");
  SentencePieceDecoding none = Decoding();
  none.drop_first_mark = false;
  EXPECT_EQ(Decode(none, {"▁a"}), " a");
}

TEST(SentencePieceStageTest, BytesBecomeCharactersAndTheRestReplacementCharacters) {
  EXPECT_EQ(Decode(Decoding(), {"<0xE4>", "<0xB8>", "<0xAD>"}), "中");
  EXPECT_EQ(Decode(Decoding(), {"<0xE4>", "<0xB8>", "a"}), "\uFFFD\uFFFDa");
  EXPECT_EQ(Decode(Decoding(), {"<0xE4>", "<0xB8>", "<0x41>", "<0xFF>"}), "\uFFFD\uFFFDA\uFFFD");
  EXPECT_EQ(Decode(Decoding(), {"<0xE4>", "<0xB8>"}), "\uFFFD\uFFFD");
}

TEST(SentencePieceStageTest, UnknownPieceHasItsSurface) {
  EXPECT_EQ(Decode(Decoding(), {"a", "<unk>", "▁b"}), "a ?  b");
}

TEST(SentencePieceStageTest, PromptIsContextOnly) {
  const auto stage = MakeSentencePieceStage(Decoding());
  std::string text;
  const auto sink = [&](const DecodePiece& piece) {
    if (!piece.from_prompt) text += std::string(piece.text);
  };
  stage->Push({"▁a", false, /*from_prompt=*/true}, sink);
  stage->Push({"<0xC3>", false, /*from_prompt=*/true}, sink);
  stage->Push({"<0xA9>", false, /*from_prompt=*/false}, sink);
  stage->Push({"▁b", false, /*from_prompt=*/false}, sink);
  EXPECT_EQ(text, "é b");
}

}  // namespace
}  // namespace phyllo
