#include "model/tokenizer/tokenizer_files.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// An empty folder of the running test.
std::string Folder() {
  const std::string folder = absl::StrCat(
      ::testing::TempDir(), "/", ::testing::UnitTest::GetInstance()->current_test_info()->name());
  mkdir(folder.c_str(), 0700);
  return folder;
}

void Write(const std::string& folder, const std::string& name) {
  std::ofstream(folder + "/" + name) << "contents of " << name;
}

TEST(TokenizerFilesTest, FirstVocabularyCounts) {
  const std::string folder = Folder();
  Write(folder, "x.tiktoken");
  PHYLLO_ASSERT_OK_AND_ASSIGN(TokenizerFiles files, ReadTokenizerFiles(folder));
  EXPECT_EQ(files.tiktoken_name, "x");
  EXPECT_EQ(files.tiktoken, "contents of x.tiktoken");
  Write(folder, "vocab.json");
  PHYLLO_ASSERT_OK_AND_ASSIGN(files, ReadTokenizerFiles(folder));
  EXPECT_THAT(files.vocab_json, IsEmpty());  // Without merges.txt it is not one.
  Write(folder, "merges.txt");
  PHYLLO_ASSERT_OK_AND_ASSIGN(files, ReadTokenizerFiles(folder));
  EXPECT_EQ(files.merges_txt, "contents of merges.txt");
  EXPECT_THAT(files.tiktoken, IsEmpty());
  Write(folder, "tokenizer.model");
  PHYLLO_ASSERT_OK_AND_ASSIGN(files, ReadTokenizerFiles(folder));
  EXPECT_EQ(files.sentencepiece_model, "contents of tokenizer.model");
  EXPECT_THAT(files.vocab_json, IsEmpty());
  Write(folder, "tokenizer.json");
  PHYLLO_ASSERT_OK_AND_ASSIGN(files, ReadTokenizerFiles(folder));
  EXPECT_EQ(files.tokenizer_json, "contents of tokenizer.json");
  EXPECT_THAT(files.sentencepiece_model, IsEmpty());
}

TEST(TokenizerFilesTest, SettingsAreReadBesideIt) {
  const std::string folder = Folder();
  for (const char* const name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                                 "added_tokens.json", "special_tokens_map.json"}) {
    Write(folder, name);
  }
  PHYLLO_ASSERT_OK_AND_ASSIGN(const TokenizerFiles files, ReadTokenizerFiles(folder));
  EXPECT_EQ(files.tokenizer_config_json, "contents of tokenizer_config.json");
  EXPECT_EQ(files.chat_template, "contents of chat_template.jinja");
  EXPECT_EQ(files.added_tokens_json, "contents of added_tokens.json");
  EXPECT_EQ(files.special_tokens_map_json, "contents of special_tokens_map.json");
}

TEST(TokenizerFilesTest, FolderWithoutVocabularyIsNotFound) {
  EXPECT_THAT(ReadTokenizerFiles(Folder()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no tokenizer")));
}

TEST(TokenizerFilesTest, SeveralTiktokenFilesAreError) {
  const std::string folder = Folder();
  Write(folder, "x.tiktoken");
  Write(folder, "y.tiktoken");
  EXPECT_THAT(ReadTokenizerFiles(folder),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 .tiktoken files")));
}

}  // namespace
}  // namespace phyllo
