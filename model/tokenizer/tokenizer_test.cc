#include "model/tokenizer/tokenizer.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Byte-level, over a, b, c and the space; <s> is put before every text, <think> is not special.
constexpr char kTokenizerJson[] = R"({
  "added_tokens": [{"id": 6, "content": "<s>", "special": true, "normalized": false},
                   {"id": 7, "content": "<think>", "special": false, "normalized": false},
                   {"id": 8, "content": "<|x|>", "special": false, "normalized": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
                     "special_tokens": {"<s>": {"ids": [6]}}},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "ab": 4, "Ġab": 5, "<": 9, ">": 10, "s": 11, "|": 12, "x": 13,
            "Ã": 14, "©": 15},
            "merges": ["a b", "Ġ ab"]}})";
constexpr char kConfigJson[] =
    R"({"bos_token": {"content": "<s>"}, "eos_token": "</none>", "chat_template": "{{ '<think>' }}"})";

std::unique_ptr<Tokenizer> MakeTokenizer() {
  auto tokenizer = Tokenizer::FromJson(kTokenizerJson, kConfigJson);
  EXPECT_THAT(tokenizer, IsOk());
  return *std::move(tokenizer);
}

std::vector<int32_t> Ids(const absl::StatusOr<Encoding>& encoding) {
  EXPECT_THAT(encoding, IsOk());
  return encoding->ids;
}

TEST(TokenizerTest, EncodesWithAndWithoutSpecialTokens) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_THAT(Ids(tokenizer->Encode("ab abc", {})), ElementsAre(6, 4, 5, 2));
  EXPECT_THAT(Ids(tokenizer->Encode("ab abc", {/*add_special_tokens=*/false})),
              ElementsAre(4, 5, 2));
}

TEST(TokenizerTest, EmptyTextHasOnlySpecialTokens) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_THAT(Ids(tokenizer->Encode("", {})), ElementsAre(6));
  EXPECT_THAT(Ids(tokenizer->Encode("", {/*add_special_tokens=*/false})), IsEmpty());
}

TEST(TokenizerTest, ControlTokensAreTextUnlessAskedFor) {
  const auto tokenizer = MakeTokenizer();
  EncodeOptions options{/*add_special_tokens=*/false};
  EXPECT_THAT(Ids(tokenizer->Encode("<s>", options)), ElementsAre(9, 11, 10));
  EXPECT_THAT(Ids(tokenizer->Encode("<|x|>", options)), ElementsAre(9, 12, 13, 12, 10));
  EXPECT_THAT(Ids(tokenizer->Encode("<think>", options)), ElementsAre(7));
  options.parse_special_tokens = true;
  EXPECT_THAT(Ids(tokenizer->Encode("<s>a<|x|>", options)), ElementsAre(6, 0, 8));
}

TEST(TokenizerTest, OffsetsCoverBytesOfText) {
  const auto tokenizer = MakeTokenizer();
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const Encoding encoding,
      tokenizer->Encode("ab <think>abc", {true, false, /*with_offsets=*/true}));
  EXPECT_THAT(encoding.ids, ElementsAre(6, 4, 3, 7, 4, 2));
  EXPECT_THAT(encoding.offsets,
              ElementsAre(ByteRange{0, 0}, ByteRange{0, 2}, ByteRange{2, 3}, ByteRange{3, 10},
                          ByteRange{10, 12}, ByteRange{12, 13}));
}

TEST(TokenizerTest, OffsetsOfNormalizedTextAreOfOriginal) {
  // e and a combining acute compose to two bytes, which are two tokens of the same three bytes.
  const auto tokenizer = MakeTokenizer();
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const Encoding encoding,
      tokenizer->Encode("ae\u0301b", {false, false, /*with_offsets=*/true}));
  EXPECT_THAT(encoding.ids, ElementsAre(0, 14, 15, 1));
  EXPECT_THAT(encoding.offsets,
              ElementsAre(ByteRange{0, 1}, ByteRange{1, 4}, ByteRange{1, 4}, ByteRange{4, 5}));
}

TEST(TokenizerTest, LiteralRangeKeepsTokensText) {
  const auto tokenizer = MakeTokenizer();
  const EncodeOptions options{/*add_special_tokens=*/false};
  const std::string text = "<s><s><s>";
  EXPECT_THAT(Ids(tokenizer->EncodeWithLiteralRanges(text, {{{3, 6}, true}}, options)),
              ElementsAre(6, 9, 11, 10, 6));
  // A token that only begins or ends in the range is touched by it too.
  EXPECT_THAT(Ids(tokenizer->EncodeWithLiteralRanges(text, {{{5, 7}, true}}, options)),
              ElementsAre(6, 9, 11, 10, 9, 11, 10));
}

TEST(TokenizerTest, LiteralRangeHoldsForNormalizedTokens) {
  const auto tokenizer = MakeTokenizer();
  const EncodeOptions options{/*add_special_tokens=*/false};
  EXPECT_THAT(
      Ids(tokenizer->EncodeWithLiteralRanges("e\u0301<|x|><|x|>", {{{0, 8}, true}}, options)),
      ElementsAre(14, 15, 9, 12, 13, 12, 10, 8));
}

TEST(TokenizerTest, TemplateTokensInLiteralRangeDependOnRange) {
  const auto tokenizer = MakeTokenizer();
  const EncodeOptions options{/*add_special_tokens=*/false};
  EXPECT_THAT(Ids(tokenizer->EncodeWithLiteralRanges(
                  "<think>", {{{0, 7}, /*template_tokens_too=*/false}}, options)),
              ElementsAre(7));
  EXPECT_EQ(Ids(tokenizer->EncodeWithLiteralRanges("<think>", {{{0, 7}, true}}, options)).front(),
            9);
}

TEST(TokenizerTest, RangesOutOfOrderOrBoundsAreErrors) {
  const auto tokenizer = MakeTokenizer();
  const auto encode = [&](std::vector<LiteralRange> ranges) {
    return tokenizer->EncodeWithLiteralRanges("abc", ranges, {}).status();
  };
  EXPECT_THAT(encode({{{0, 4}, true}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[0, 4)")));
  EXPECT_THAT(encode({{{1, 2}, true}, {{0, 1}, true}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(encode({{{2, 1}, true}}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TokenizerTest, InvalidUtf8IsErrorWithPlace) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_THAT(tokenizer->Encode("ab\xFF", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte 2")));
}

TEST(TokenizerTest, DecodeSkipsSpecialAndUnusedIds) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_EQ(tokenizer->Decode({6, 4, 5, 99, -1}, /*skip_special_tokens=*/false), "<s>ab ab");
  EXPECT_EQ(tokenizer->Decode({6, 4, 7}, /*skip_special_tokens=*/true), "ab<think>");
}

TEST(TokenizerTest, DescribesVocabulary) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 16);
  EXPECT_EQ(*tokenizer->IdOf("Ġab"), 5);
  EXPECT_EQ(tokenizer->FindToken(5)->bytes, " ab");
  EXPECT_TRUE(tokenizer->FindToken(8)->control);
  EXPECT_FALSE(tokenizer->FindToken(8)->special);
  EXPECT_FALSE(tokenizer->FindToken(16).has_value());
}

TEST(TokenizerTest, ReadsConfigOfTokens) {
  const auto tokenizer = MakeTokenizer();
  EXPECT_EQ(*tokenizer->config().bos_token_id, 6);
  EXPECT_EQ(tokenizer->config().eos_token, "</none>");
  EXPECT_FALSE(tokenizer->config().eos_token_id.has_value());
  EXPECT_EQ(tokenizer->config().chat_template, "{{ '<think>' }}");
}

TEST(TokenizerTest, DigestsAreOfFiles) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto a, Tokenizer::FromJson(kTokenizerJson, ""));
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const auto b, Tokenizer::FromJson(absl::StrCat(kTokenizerJson, "\n"), "", "template"));
  EXPECT_EQ(a->digest().size(), 64u);
  EXPECT_NE(a->digest(), b->digest());
  EXPECT_EQ(a->config().chat_template_digest,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_NE(a->config().chat_template_digest, b->config().chat_template_digest);
}

TEST(TokenizerTest, LoadReadsFolder) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "/tokenizer.json") << kTokenizerJson;
  std::ofstream(folder + "/tokenizer_config.json") << kConfigJson;
  std::ofstream(folder + "/chat_template.jinja") << "from the file";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::Load(folder));
  EXPECT_EQ(tokenizer->config().chat_template, "from the file");
  EXPECT_EQ(*tokenizer->config().bos_token_id, 6);
}

TEST(TokenizerTest, LoadOfMissingFileIsNotFound) {
  EXPECT_THAT(Tokenizer::Load("/nonexistent"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(TokenizerTest, UnknownComponentIsNamed) {
  EXPECT_THAT(Tokenizer::FromJson(R"({"model": {"type": "WordPiece"}})", ""),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("WordPiece")));
}

TEST(TokenizerTest, MalformedFilesAreErrors) {
  for (const char* json : {"", "{", "[]", "3", R"({"model": 3})", R"({"model": {"vocab": {}}})",
                           R"({"model": {"vocab": {}, "merges": []}, "added_tokens": [[]]})",
                           R"({"model": {"vocab": {}, "merges": []}, "normalizer": []})"}) {
    EXPECT_THAT(Tokenizer::FromJson(json, ""), StatusIs(absl::StatusCode::kInvalidArgument))
        << json;
  }
  EXPECT_THAT(Tokenizer::FromJson(kTokenizerJson, "[]"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("config")));
}

TEST(TokenizerTest, ThreadsShareOneTokenizer) {
  const auto tokenizer = MakeTokenizer();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const auto encoding = tokenizer->Encode("ab abc", {});
        if (!encoding.ok() || encoding->ids != std::vector<int32_t>{6, 4, 5, 2}) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace phyllo
