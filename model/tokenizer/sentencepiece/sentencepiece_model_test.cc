#include "model/tokenizer/sentencepiece/sentencepiece_model.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

// A length-delimited field of a tag below 16 with less than 128 bytes.
std::string Field(int tag, absl::string_view bytes) {
  return std::string{static_cast<char>(tag << 3 | 2), static_cast<char>(bytes.size())} +
         std::string(bytes);
}

// A field of any tag below 2048 with a small number.
std::string Number(int tag, int value) {
  const int key = tag << 3;
  if (key < 128) return {static_cast<char>(key), static_cast<char>(value)};
  return {static_cast<char>((key & 0x7F) | 0x80), static_cast<char>(key >> 7),
          static_cast<char>(value)};
}

TEST(SentencePieceModelTest, ReadsPiecesAndSettings) {
  const std::string one("\x15\x00\x00\x80\x3F", 5);  // Score 1.0.
  const std::string bytes = Field(1, Field(1, "<unk>") + Number(3, 2)) +
                            Field(1, Field(1, "a") + one) + Field(2, Number(3, 2) + Number(35, 1)) +
                            Field(3, Field(2, "map") + Number(3, 0) + Number(4, 0)) +
                            Field(4, "self-test");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const SentencePieceModel model, ParseSentencePieceModel(bytes));
  ASSERT_EQ(model.pieces.size(), 2u);
  EXPECT_EQ(model.pieces[0].type, SentencePieceModel::PieceType::kUnknown);
  EXPECT_EQ(model.pieces[1].piece, "a");
  EXPECT_EQ(model.pieces[1].score, 1.0f);
  EXPECT_EQ(model.pieces[1].type, SentencePieceModel::PieceType::kNormal);
  EXPECT_EQ(model.model_type, SentencePieceModel::ModelType::kBpe);
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_EQ(model.precompiled_charsmap, "map");
  EXPECT_FALSE(model.add_dummy_prefix);
  EXPECT_FALSE(model.remove_extra_whitespaces);
  EXPECT_TRUE(model.escape_whitespaces);
}

TEST(SentencePieceModelTest, MalformedFilesAreErrors) {
  const auto error = [](const std::string& bytes) {
    return ParseSentencePieceModel(bytes).status();
  };
  EXPECT_THAT(error(""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no pieces")));
  EXPECT_THAT(error("{\"version\": 1}"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(error(Field(1, "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("piece 0 is empty")));
  EXPECT_THAT(error(Field(1, Field(1, "\xFF"))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(error(Field(1, Field(1, "a") + Number(3, 7))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("7")));
  EXPECT_THAT(error(Field(1, Field(1, "a") + Number(2, 7))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("wire type")));
}

}  // namespace
}  // namespace phyllo
