#include "model/tokenizer/word_models/unigram_model.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tokenizer/word_models/word_token.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json Letters() {
  return nlohmann::json::parse(
      R"({"type": "Unigram", "unk_id": 0, "vocab":
          [["<unk>", 0.0], ["a", -3.0], ["b", -3.0], ["ab", -5.0], ["abb", -9.5], ["bb", -4.0]]})");
}

std::vector<std::pair<int32_t, int32_t>> Encode(const nlohmann::json& json,
                                                absl::string_view word) {
  const auto model = UnigramModel::FromJson(json);
  EXPECT_THAT(model, IsOk());
  const auto scratch = (*model)->NewScratch();
  std::vector<std::pair<int32_t, int32_t>> result;
  for (int repeat = 0; repeat < 2; ++repeat) {  // The second comes from the cache.
    std::vector<WordToken> tokens;
    EXPECT_THAT((*model)->Encode(word, scratch.get(), &tokens), IsOk());
    std::vector<std::pair<int32_t, int32_t>> again;
    for (const WordToken& token : tokens) again.emplace_back(token.id, token.length);
    EXPECT_TRUE(repeat == 0 || again == result);
    result = again;
  }
  return result;
}

using Token = std::pair<int32_t, int32_t>;  // Id, length.

TEST(UnigramModelTest, TakesBestSum) {
  EXPECT_THAT(Encode(Letters(), "ab"), ElementsAre(Token(3, 2)));                // -5 > -6
  EXPECT_THAT(Encode(Letters(), "abb"), ElementsAre(Token(1, 1), Token(5, 2)));  // -7 > -8, -9.5
}

TEST(UnigramModelTest, EqualSumsPreferLongestLastToken) {
  nlohmann::json json = Letters();
  json["vocab"][3][1] = -6.0;
  EXPECT_THAT(Encode(json, "ab"), ElementsAre(Token(3, 2)));
}

TEST(UnigramModelTest, UnknownCharactersFuse) {
  EXPECT_THAT(Encode(Letters(), "aéxb"), ElementsAre(Token(1, 1), Token(0, 3), Token(2, 1)));
}

TEST(UnigramModelTest, ByteFallbackSpellsUnknownCharacters) {
  nlohmann::json json = Letters();
  json["byte_fallback"] = true;
  EXPECT_THAT(Encode(json, "é"), ElementsAre(Token(0, 2)));  // Not all bytes are there.
  json["vocab"].push_back({"<0xC3>", -20.0});
  json["vocab"].push_back({"<0xA9>", -20.0});
  EXPECT_THAT(Encode(json, "aé"), ElementsAre(Token(1, 1), Token(6, 1), Token(7, 1)));
}

TEST(UnigramModelTest, SpelledUnknownTokenIsItself) {
  EXPECT_THAT(Encode(Letters(), "<unk>"), ElementsAre(Token(0, 5)));
}

TEST(UnigramModelTest, UnknownCharacterWithoutUnknownTokenIsError) {
  nlohmann::json json = Letters();
  json.erase("unk_id");
  const auto model = UnigramModel::FromJson(json);
  ASSERT_THAT(model, IsOk());
  const auto scratch = (*model)->NewScratch();
  std::vector<WordToken> tokens;
  EXPECT_THAT((*model)->Encode("abba", scratch.get(), &tokens), IsOk());
  EXPECT_THAT((*model)->Encode("axb", scratch.get(), &tokens),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unknown token")));
}

TEST(UnigramModelTest, SentencePieceRoundsPathsToFloat) {
  // 2^24 + 1 is no float: "a" + "ab" is rounded up and beats "aa" + "b", which is better by half.
  const auto encode = [](bool as_sentencepiece) {
    Vocabulary vocabulary;
    for (const char* const piece : {"<unk>", "a", "ab", "aa", "b"}) {
      EXPECT_THAT(vocabulary.Add(piece, vocabulary.size()), IsOk());
    }
    UnigramModel::Options options;
    options.unk_id = 0;
    options.unk_score = -1e9;
    options.as_sentencepiece = as_sentencepiece;
    const UnigramModel model(std::move(vocabulary), options,
                             {{1, -16777216.0}, {2, -1.0}, {3, -16777216.0}, {4, -0.5}});
    const auto scratch = model.NewScratch();
    std::vector<WordToken> tokens;
    EXPECT_THAT(model.Encode("aab", scratch.get(), &tokens), IsOk());
    return std::vector<int32_t>{tokens.at(0).id, tokens.at(1).id};
  };
  EXPECT_THAT(encode(/*as_sentencepiece=*/true), ElementsAre(1, 2));
  EXPECT_THAT(encode(/*as_sentencepiece=*/false), ElementsAre(3, 4));
}

TEST(UnigramModelTest, MalformedModelsAreErrors) {
  const auto error = [](const char* key, nlohmann::json value) {
    nlohmann::json json = Letters();
    json[key] = std::move(value);
    return UnigramModel::FromJson(json).status();
  };
  EXPECT_THAT(error("vocab", 3), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("vocab")));
  EXPECT_THAT(error("vocab", nlohmann::json::parse(R"([["a", "b"]])")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("entry 0")));
  EXPECT_THAT(error("unk_id", 6), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("6")));
  EXPECT_THAT(error("unk_id", -2), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-2")));
}

}  // namespace
}  // namespace phyllo
