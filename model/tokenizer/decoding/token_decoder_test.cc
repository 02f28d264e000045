#include "model/tokenizer/decoding/token_decoder.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr char kSentencePiece[] = R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

std::string Decode(const char* json, const std::vector<std::string>& tokens) {
  const auto decoder = TokenDecoder::FromJson(nlohmann::json::parse(json));
  EXPECT_THAT(decoder, IsOk());
  DecodeStream stream(**decoder, std::numeric_limits<int64_t>::max());
  std::string text;
  for (const std::string& token : tokens) stream.Push(token, /*from_prompt=*/false, &text);
  stream.Finish(&text);
  return text;
}

TEST(TokenDecoderTest, SentencePieceStripsOneLeadingSpace) {
  EXPECT_EQ(Decode(kSentencePiece, {"▁▁Hello", "▁world"}), " Hello world");
}

TEST(TokenDecoderTest, ByteFallbackSpellsValidRuns) {
  EXPECT_EQ(Decode(kSentencePiece, {"a", "<0xC3>", "<0xA9>", "b"}), "aéb");
}

TEST(TokenDecoderTest, ByteFallbackReplacesInvalidRunByteByByte) {
  EXPECT_EQ(Decode(kSentencePiece, {"a", "<0xC3>", "<0xA9>", "<0xFF>", "b"}),
            "a\uFFFD\uFFFD\uFFFDb");
}

TEST(TokenDecoderTest, ByteLevelReplacesMaximalInvalidParts) {
  EXPECT_EQ(Decode(R"({"type": "ByteLevel"})", {"Ġa", "ä½", "b"}), " a\uFFFDb");
}

TEST(TokenDecoderTest, MetaspaceDropsMarksOfFirstToken) {
  EXPECT_EQ(Decode(R"({"type": "Metaspace", "replacement": "▁"})", {"▁a", "▁b"}), "a b");
  EXPECT_EQ(Decode(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})",
                   {"▁a", "▁b"}),
            " a b");
}

TEST(TokenDecoderTest, NoDecoderJoinsWithSpaces) { EXPECT_EQ(Decode("null", {"a", "b"}), "a b"); }

TEST(TokenDecoderTest, StripTakesBothEndsOfEachToken) {
  EXPECT_EQ(Decode(R"({"type": "Strip", "content": "_", "start": 1, "stop": 2})", {"__a___", "_b"}),
            "_a_b");
}

TEST(TokenDecoderTest, TokenBytesAreWithoutContext) {
  const auto decoder = TokenDecoder::FromJson(nlohmann::json::parse(kSentencePiece));
  ASSERT_THAT(decoder, IsOk());
  EXPECT_EQ((*decoder)->TokenBytes("▁the"), " the");
  EXPECT_EQ((*decoder)->TokenBytes("<0xFF>"), "\xFF");
}

TEST(TokenDecoderTest, StagesThatNeedWholeTokensMustComeFirst) {
  EXPECT_THAT(
      TokenDecoder::FromJson(nlohmann::json::parse(
          R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]})")),
      StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("ByteFallback")));
}

TEST(TokenDecoderTest, UnknownTypeIsNamed) {
  EXPECT_THAT(TokenDecoder::FromJson({{"type", "WordPiece"}}),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("WordPiece")));
}

}  // namespace
}  // namespace phyllo
