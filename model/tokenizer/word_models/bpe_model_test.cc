#include "model/tokenizer/word_models/bpe_model.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int32_t> Encode(const nlohmann::json& json, absl::string_view word,
                            bool byte_level = false) {
  const auto model = BpeModel::FromJson(json, byte_level);
  EXPECT_THAT(model, IsOk());
  const auto scratch = (*model)->NewScratch();
  std::vector<int32_t> ids;
  for (int repeat = 0; repeat < 2; ++repeat) {  // The second comes from the cache.
    std::vector<WordToken> tokens;
    EXPECT_THAT((*model)->Encode(word, scratch.get(), &tokens), IsOk());
    std::vector<int32_t> again;
    for (const WordToken& token : tokens) again.push_back(token.id);
    EXPECT_TRUE(repeat == 0 || again == ids);
    ids = again;
  }
  return ids;
}

nlohmann::json Letters() {
  return {{"vocab", {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"abc", 4}, {"<unk>", 5}, {"bc", 6}}},
          {"merges", nlohmann::json::array({"a b", "ab c"})}};
}

TEST(BpeModelTest, MergesByRank) { EXPECT_THAT(Encode(Letters(), "abcb"), ElementsAre(4, 1)); }

TEST(BpeModelTest, MergesMayBePairs) {
  nlohmann::json json = Letters();
  json["merges"] = nlohmann::json::parse(R"([["b", "c"], ["a", "b"]])");
  EXPECT_THAT(Encode(json, "abc"), ElementsAre(0, 6));
}

TEST(BpeModelTest, UnknownCharacterIsDroppedWithoutUnknownToken) {
  EXPECT_THAT(Encode(Letters(), "axb"), ElementsAre(3));
}

TEST(BpeModelTest, UnknownCharactersFuseIfAsked) {
  nlohmann::json json = Letters();
  json["unk_token"] = "<unk>";
  EXPECT_THAT(Encode(json, "axyb"), ElementsAre(0, 5, 5, 1));
  json["fuse_unk"] = true;
  EXPECT_THAT(Encode(json, "axyb"), ElementsAre(0, 5, 1));
}

TEST(BpeModelTest, ByteFallbackSpellsBytes) {
  nlohmann::json json = Letters();
  json["byte_fallback"] = true;
  json["vocab"]["<0xC3>"] = 7;
  json["vocab"]["<0xA9>"] = 8;
  EXPECT_THAT(Encode(json, "aéb"), ElementsAre(0, 7, 8, 1));
}

TEST(BpeModelTest, IgnoreMergesTakesWholeWordFirst) {
  nlohmann::json json = Letters();
  EXPECT_THAT(Encode(json, "bc"), ElementsAre(1, 2));
  json["ignore_merges"] = true;
  EXPECT_THAT(Encode(json, "bc"), ElementsAre(6));
}

TEST(BpeModelTest, ByteLevelWordsAreBytes) {
  const nlohmann::json json = {{"vocab", {{"Ġ", 0}, {"a", 1}, {"Ġa", 2}, {"Ã", 3}, {"©", 4}}},
                               {"merges", nlohmann::json::array({"Ġ a"})}};
  EXPECT_THAT(Encode(json, " a", /*byte_level=*/true), ElementsAre(2));
  EXPECT_THAT(Encode(json, "é", /*byte_level=*/true), ElementsAre(3, 4));
}

TEST(BpeModelTest, PrefixAndSuffixMarkPlaceInWord) {
  const nlohmann::json json = {{"vocab", {{"a", 0}, {"##b", 1}, {"##c</w>", 2}, {"ab", 3}}},
                               {"continuing_subword_prefix", "##"},
                               {"end_of_word_suffix", "</w>"},
                               {"merges", nlohmann::json::array({"a ##b"})}};
  EXPECT_THAT(Encode(json, "abc"), ElementsAre(3, 2));
}

TEST(BpeModelTest, CutsBeforeMarkOnlyWhereNoTokenJoins) {
  // "b▁" is joined by a token, "a▁" by none; cuts must not change what the merges give.
  const nlohmann::json json = {
      {"vocab", {{"a", 0}, {"b", 1}, {"▁", 2}, {"b▁", 3}, {"▁a", 4}, {"b▁a", 5}, {"▁▁", 6}}},
      {"merges", nlohmann::json::array({"▁ ▁", "▁ a", "b ▁", "b ▁a"})}};
  EXPECT_THAT(Encode(json, "a▁ab▁a▁▁a"), ElementsAre(0, 4, 5, 6, 0));
}

TEST(BpeModelTest, LengthsAddUpToWord) {
  const auto model = BpeModel::FromJson(Letters(), /*byte_level=*/false);
  ASSERT_THAT(model, IsOk());
  const auto scratch = (*model)->NewScratch();
  std::vector<WordToken> tokens;
  EXPECT_THAT((*model)->Encode("xéabxc", scratch.get(), &tokens), IsOk());
  int32_t length = 0;
  for (const WordToken& token : tokens) length += token.length;
  EXPECT_EQ(length, 7);
}

TEST(BpeModelTest, MalformedModelsAreErrors) {
  const auto error = [](const char* key, nlohmann::json value) {
    nlohmann::json json = Letters();
    json[key] = std::move(value);
    return BpeModel::FromJson(json, false).status();
  };
  EXPECT_THAT(error("vocab", 3), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("vocab")));
  EXPECT_THAT(error("vocab", {{"a", -1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-1")));
  EXPECT_THAT(error("vocab", {{"a", 1}, {"b", 1}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("two tokens")));
  EXPECT_THAT(error("vocab", {{"a", 1e9}}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(error("merges", nlohmann::json::array({"a z"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("merge 0")));
  EXPECT_THAT(error("merges", nlohmann::json::array({"a b c"})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("merge 0")));
  EXPECT_THAT(error("merges", nlohmann::json::array({nlohmann::json::array({"a"})})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("merge 0")));
  EXPECT_THAT(error("unk_token", "<none>"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unk_token")));
  EXPECT_THAT(error("dropout", 0.1),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("dropout")));
}

}  // namespace
}  // namespace phyllo
