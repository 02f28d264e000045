#include "model/tokenizer/incremental_decoder.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

// Byte tokens are ids 16 ... 271; "▁a" is 1, "b" is 2, <s> is 3.
std::unique_ptr<Tokenizer> MakeTokenizer() {
  std::string vocab = R"("<unk>": 0, "▁a": 1, "b": 2)";
  const char* const digits = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    vocab += std::string(R"(, "<0x)") + digits[byte / 16] + digits[byte % 16] + R"(>": )" +
             std::to_string(16 + byte);
  }
  auto tokenizer = Tokenizer::FromJson(
      R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true, "normalized": false}],
      "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
      {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
      "model": {"type": "BPE", "byte_fallback": true, "merges": [], "vocab": {)" +
          vocab + "}}}",
      "");
  EXPECT_THAT(tokenizer, IsOk());
  return *std::move(tokenizer);
}

std::vector<int32_t> Bytes(absl::string_view text) {
  std::vector<int32_t> ids;
  for (const char c : text) ids.push_back(16 + static_cast<unsigned char>(c));
  return ids;
}

TEST(IncrementalDecoderTest, DeltasAddUpToDecode) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder decoder(*tokenizer, /*skip_special_tokens=*/true);
  std::string text = decoder.Append({1, 3, 2});
  text += decoder.Append(Bytes("é"));
  text += decoder.Append({1});
  text += decoder.Finish();
  EXPECT_EQ(text, "abé a");
}

TEST(IncrementalDecoderTest, SpecialTokensAreKeptIfAsked) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder decoder(*tokenizer, /*skip_special_tokens=*/false);
  EXPECT_EQ(decoder.Append({3, 2}), "<s>b");
}

TEST(IncrementalDecoderTest, UnfinishedCharacterIsReplacedAtEndOnly) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder decoder(*tokenizer, true);
  EXPECT_EQ(decoder.Append(Bytes("\xE4\xBD")), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD\uFFFD");
}

TEST(IncrementalDecoderTest, LeadingSpaceStaysBehindPrompt) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder alone(*tokenizer, true), seeded(*tokenizer, true);
  seeded.Seed({3, 2});
  EXPECT_EQ(alone.Append({1}), "a");
  EXPECT_EQ(seeded.Append({1}), " a");
}

TEST(IncrementalDecoderTest, PromptEndingInHalfCharacterIsNotRepeated) {
  const auto tokenizer = MakeTokenizer();
  std::vector<int32_t> prompt = {1, 2};
  for (const int32_t id : Bytes("\xE4\xBD")) prompt.push_back(id);
  IncrementalDecoder decoder(*tokenizer, true);
  decoder.Seed(prompt);
  EXPECT_EQ(decoder.Append(Bytes("\xA0")), "");
  EXPECT_EQ(decoder.Append({2}), "你b");
}

TEST(IncrementalDecoderTest, LongByteRunIsNotHeldForever) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder decoder(*tokenizer, true);
  std::string text;
  for (int i = 0; i < 100; ++i) text += decoder.Append(Bytes("你"));
  EXPECT_GE(static_cast<int64_t>(text.size()), 300 - IncrementalDecoder::kMaxHeldBytes - 3);
  text += decoder.Finish();
  EXPECT_EQ(text.size(), 300u);
}

TEST(IncrementalDecoderTest, UnusedIdsAreIgnored) {
  const auto tokenizer = MakeTokenizer();
  IncrementalDecoder decoder(*tokenizer, true);
  EXPECT_EQ(decoder.Append({2, 100000, -3, 2}), "bb");
}

}  // namespace
}  // namespace phyllo
