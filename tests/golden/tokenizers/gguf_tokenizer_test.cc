// The golden tokenizers by way of GGUF: their vocabularies are written into a GGUF file as
// llama.cpp's convert_hf_to_gguf.py does, and what the file is read as must give the golden ids.
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/testing/gguf_bytes.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/golden/tokenizers/golden_tokenizer.h"
#include "tests/golden/tokenizers/xz_file.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

// tokenizer.ggml.token_type.
constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

constexpr char kMark[] = "\xE2\x96\x81";  // U+2581, SentencePiece's space

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
};

Vocabulary ReadVocabulary(const std::string& name) {
  const auto text = ReadPlainOrXz(GoldenTokenizerFolder(name) + "/tokenizer.json");
  EXPECT_THAT(text, IsOk());
  const Json file = Json::parse(*text);
  Vocabulary vocabulary;
  const auto add = [&](int64_t id, const std::string& token, int32_t type) {
    for (int64_t i = vocabulary.tokens.size(); i <= id; ++i) {
      vocabulary.tokens.push_back(absl::StrCat("[PAD", i, "]"));
      vocabulary.types.push_back(kUnused);
    }
    vocabulary.tokens[id] = token;
    vocabulary.types[id] = type;
  };
  for (const auto& entry : file["model"]["vocab"].items()) {
    const bool byte = entry.key().size() == 6 && absl::StartsWith(entry.key(), "<0x");
    add(entry.value(), entry.key(), byte ? kByte : kNormal);
  }
  for (const Json& token : file["added_tokens"])
    add(token["id"], token["content"], token["special"] ? kControl : kUserDefined);
  for (const Json& merge : file["model"]["merges"]) {
    vocabulary.merges.push_back(merge.is_string() ? merge.get<std::string>()
                                                  : merge[0].get<std::string>() + " " +
                                                        merge[1].get<std::string>());
  }
  return vocabulary;
}

std::unique_ptr<Tokenizer> LoadFile(const GgufBytes& file) {
  const std::string path = testing::TempDir() + "/tokenizer.gguf";
  std::ofstream(path, std::ios::binary) << file.Finish();
  auto tokenizer = Tokenizer::Load(path);
  EXPECT_THAT(tokenizer, IsOk());
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

void ExpectGoldenIds(const Tokenizer& tokenizer, const std::string& golden_name) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const GoldenTokenizer golden,
      LoadGoldenTokenizer(golden_name, golden_name, {}, GoldenFormat::kTokenizerJson));
  EXPECT_GT(golden.cases.size(), 100u);
  for (const GoldenCase& golden_case : golden.cases) {
    EncodeOptions options;
    options.add_special_tokens = false;
    options.parse_special_tokens = true;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding encoding,
                                tokenizer.Encode(golden_case.text, options));
    EXPECT_EQ(encoding.ids, golden_case.ids) << golden_name << " case " << golden_case.id;
    EXPECT_EQ(tokenizer.Decode(golden_case.ids, /*skip_special_tokens=*/false), golden_case.decoded)
        << golden_name << " case " << golden_case.id;
    options.add_special_tokens = true;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding special,
                                tokenizer.Encode(golden_case.text, options));
    EXPECT_EQ(special.ids, golden_case.ids_special) << golden_name << " case " << golden_case.id;
  }
}

void ExpectByteLevelWorks(const std::string& name, const std::string& pre) {
  const Vocabulary vocabulary = ReadVocabulary(name);
  const auto tokenizer = LoadFile(GgufBytes()
                                      .Text("tokenizer.ggml.model", "gpt2")
                                      .Text("tokenizer.ggml.pre", pre)
                                      .Texts("tokenizer.ggml.tokens", vocabulary.tokens)
                                      .Int32s("tokenizer.ggml.token_type", vocabulary.types)
                                      .Texts("tokenizer.ggml.merges", vocabulary.merges));
  ASSERT_NE(tokenizer, nullptr);
  ExpectGoldenIds(*tokenizer, name);
}

TEST(GgufTokenizerTest, Gpt2) { ExpectByteLevelWorks("gpt2", "gpt-2"); }
TEST(GgufTokenizerTest, Qwen) { ExpectByteLevelWorks("qwen3", "qwen2"); }
TEST(GgufTokenizerTest, SmolLm) { ExpectByteLevelWorks("smollm2", "smollm"); }

TEST(GgufTokenizerTest, Mistral) {
  Vocabulary vocabulary = ReadVocabulary("mistral");
  vocabulary.types[0] = kUnknown;
  // SentencePiece numbers learned pieces in the order of learning, and scores them by it; runs of
  // spaces were added with a score below all others.
  std::vector<float> scores(vocabulary.tokens.size(), 0.0f);
  constexpr size_t kFirstLearned = 3 + 256;
  for (size_t i = kFirstLearned; i < scores.size(); ++i) {
    const bool spaces = absl::StrReplaceAll(vocabulary.tokens[i], {{kMark, ""}}).empty();
    scores[i] =
        spaces && vocabulary.tokens[i] != kMark ? -1e9f : -static_cast<float>(i - kFirstLearned);
  }
  const auto tokenizer = LoadFile(GgufBytes()
                                      .Text("tokenizer.ggml.model", "llama")
                                      .Texts("tokenizer.ggml.tokens", vocabulary.tokens)
                                      .Float32s("tokenizer.ggml.scores", scores)
                                      .Int32s("tokenizer.ggml.token_type", vocabulary.types)
                                      .Uint32("tokenizer.ggml.bos_token_id", 1)
                                      .Uint32("tokenizer.ggml.eos_token_id", 2)
                                      .Uint32("tokenizer.ggml.unknown_token_id", 0)
                                      .Bool("tokenizer.ggml.add_bos_token", true));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(tokenizer->config().bos_token, "<s>");
  EXPECT_EQ(tokenizer->config().eos_token_id, 2);
  ExpectGoldenIds(*tokenizer, "mistral");
}

// The golden tokenizer.json puts no space before a text that begins with one; a GGUF file says that
// one is put before every text.
bool BeginsWithoutSpace(const GoldenCase& golden_case) {
  return !absl::StartsWith(golden_case.text, " ") && !absl::StartsWith(golden_case.text, kMark);
}

// A file that convert_hf_to_gguf.py made, with SentencePiece's own scores.
TEST(GgufTokenizerTest, FileOfLlamaCpp) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto tokenizer,
                              Tokenizer::Load("tests/golden/data/gguf/stories260K.Q8_0.gguf"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const GoldenTokenizer golden,
      LoadGoldenTokenizer("tok512", "tok512", {}, GoldenFormat::kTokenizerJson));
  int64_t compared = 0;
  for (const GoldenCase& golden_case : golden.cases) {
    if (!BeginsWithoutSpace(golden_case)) continue;
    EncodeOptions options;
    options.add_special_tokens = false;
    options.parse_special_tokens = true;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const Encoding encoding,
                                tokenizer->Encode(golden_case.text, options));
    EXPECT_EQ(encoding.ids, golden_case.ids) << "case " << golden_case.id;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(GgufTokenizerTest, UnsupportedPartsAreNamed) {
  const auto error = [](const GgufBytes& file) {
    const std::string path = testing::TempDir() + "/other.gguf";
    std::ofstream(path, std::ios::binary) << file.Finish();
    return Tokenizer::Load(path).status();
  };
  EXPECT_THAT(error(GgufBytes().Text("tokenizer.ggml.model", "bert")),
              StatusIs(absl::StatusCode::kUnimplemented,
                       testing::HasSubstr("tokenizer.ggml.model \"bert\"")));
  EXPECT_THAT(
      error(GgufBytes()
                .Text("tokenizer.ggml.model", "gpt2")
                .Text("tokenizer.ggml.pre", "odd")
                .Texts("tokenizer.ggml.tokens", {"a"})),
      StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("tokenizer.ggml.pre \"odd\"")));
  EXPECT_THAT(error(GgufBytes()
                        .Text("tokenizer.ggml.model", "llama")
                        .Texts("tokenizer.ggml.tokens", {"a", "\xFF"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("tokenizer.ggml.tokens [1] is not valid UTF-8")));
  EXPECT_THAT(error(GgufBytes()
                        .Text("tokenizer.ggml.model", "llama")
                        .Texts("tokenizer.ggml.tokens", {"a"})
                        .Float32s("tokenizer.ggml.scores", {1, 2})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::HasSubstr("tokenizer.ggml.scores is missing or has not one")));
}

}  // namespace
}  // namespace phyllo
