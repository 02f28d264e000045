#include "model/tokenizer/formats/tokenizer_settings.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

nlohmann::json List(const TokenizerFiles& files) {
  Vocabulary vocabulary;
  EXPECT_THAT(vocabulary.Add("<a>", 0), IsOk());
  EXPECT_THAT(vocabulary.Add("<b>", 1), IsOk());
  EXPECT_THAT(vocabulary.Add("<default>", 2), IsOk());
  const auto settings = ParseTokenizerSettings(files);
  EXPECT_THAT(settings, IsOk());
  const auto list = ListAddedTokens(*settings, vocabulary, {"<default>"});
  EXPECT_THAT(list, IsOk());
  return *list;
}

TEST(TokenizerSettingsTest, DefaultSpecialTokensWhereNoFileNamesAny) {
  EXPECT_EQ(List({}), nlohmann::json::parse(
                          R"([{"content": "<default>", "id": 2, "normalized": false,
                               "special": true}])"));
}

TEST(TokenizerSettingsTest, DecoderTableWinsOverOtherFiles) {
  TokenizerFiles files;
  files.tokenizer_config_json =
      R"({"added_tokens_decoder": {"7": {"content": "<x>", "special": true, "rstrip": true}}})";
  files.added_tokens_json = R"({"<x>": 8, "<y>": 9, "<z>": 10})";
  files.special_tokens_map_json = R"({"bos_token": "<a>", "pad_token": {"content": "<b>"},
                                      "additional_special_tokens": ["<z>", "<none>"]})";
  EXPECT_EQ(List(files), nlohmann::json::parse(R"([
    {"content": "<x>", "id": 7, "special": true, "rstrip": true},
    {"content": "<y>", "id": 9, "special": false},
    {"content": "<z>", "id": 10, "normalized": false, "special": true},
    {"content": "<a>", "id": 0, "normalized": false, "special": true},
    {"content": "<b>", "id": 1, "special": true}])"));
}

TEST(TokenizerSettingsTest, NamedTokenIsConfigsElseMaps) {
  TokenizerFiles files;
  files.tokenizer_config_json = R"({"bos_token": {"content": "<1>"}})";
  files.special_tokens_map_json = R"({"bos_token": "<2>", "eos_token": "<3>"})";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const TokenizerSettings settings, ParseTokenizerSettings(files));
  EXPECT_EQ(*NamedToken(settings, "bos_token"), "<1>");
  EXPECT_EQ(*NamedToken(settings, "eos_token"), "<3>");
  EXPECT_EQ(*NamedToken(settings, "pad_token"), "");
}

TEST(TokenizerSettingsTest, MalformedFilesAreErrors) {
  TokenizerFiles files;
  files.added_tokens_json = "[1]";
  EXPECT_THAT(ParseTokenizerSettings(files),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("added_tokens.json")));
  files.added_tokens_json = R"({"<x>": "1"})";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const TokenizerSettings settings, ParseTokenizerSettings(files));
  EXPECT_THAT(ListAddedTokens(settings, Vocabulary(), {}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("<x>")));
}

}  // namespace
}  // namespace phyllo
