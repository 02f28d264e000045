#include "model/tokenizer/sentencepiece/sentencepiece_bpe_model.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tokenizer/sentencepiece/sentencepiece_model.h"
#include "model/tokenizer/word_models/prefix_trie.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "model/tokenizer/word_models/word_token.h"

namespace phyllo {
namespace {

using PieceType = SentencePieceModel::PieceType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Token = std::pair<int32_t, int32_t>;  // Id, length.

SentencePieceModel Model(std::vector<SentencePieceModel::Piece> pieces) {
  SentencePieceModel model;
  model.model_type = SentencePieceModel::ModelType::kBpe;
  model.pieces = {{"<unk>", 0.0f, PieceType::kUnknown}};
  for (SentencePieceModel::Piece& piece : pieces) model.pieces.push_back(std::move(piece));
  return model;
}

absl::StatusOr<std::unique_ptr<SentencePieceBpeModel>> Create(const SentencePieceModel& model) {
  Vocabulary vocabulary;
  std::vector<PrefixTrie::Entry> user_defined;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    const auto id = static_cast<int32_t>(vocabulary.size());
    EXPECT_THAT(vocabulary.Add(piece.piece, id), IsOk());
    if (piece.type == PieceType::kUserDefined) user_defined.push_back({piece.piece, id});
  }
  return SentencePieceBpeModel::Create(model, std::move(vocabulary), PrefixTrie(user_defined));
}

std::vector<Token> Encode(const SentencePieceModel& model, absl::string_view text) {
  const auto bpe = Create(model);
  EXPECT_THAT(bpe, IsOk());
  const auto scratch = (*bpe)->NewScratch();
  std::vector<WordToken> tokens;
  EXPECT_THAT((*bpe)->Encode(text, scratch.get(), &tokens), IsOk());
  std::vector<Token> result;
  for (const WordToken& token : tokens) result.emplace_back(token.id, token.length);
  return result;
}

TEST(SentencePieceBpeModelTest, HighestScoreIsMergedFirst) {
  const SentencePieceModel model =
      Model({{"a", -9.0f}, {"b", -9.0f}, {"c", -9.0f}, {"ab", -2.0f}, {"bc", -1.0f}});
  EXPECT_THAT(Encode(model, "abc"), ElementsAre(Token(1, 1), Token(5, 2)));
}

TEST(SentencePieceBpeModelTest, EqualScoresGoLeftFirst) {
  const SentencePieceModel model =
      Model({{"a", -9.0f}, {"b", -9.0f}, {"c", -9.0f}, {"bc", -1.0f}, {"ab", -1.0f}});
  EXPECT_THAT(Encode(model, "abc"), ElementsAre(Token(5, 2), Token(3, 1)));
}

TEST(SentencePieceBpeModelTest, CharactersThatAreNoPiecesMayBeMerged) {
  const SentencePieceModel model = Model({{"a", -9.0f}, {"ax", -1.0f}});
  EXPECT_THAT(Encode(model, "axx"), ElementsAre(Token(2, 2), Token(0, 1)));
}

TEST(SentencePieceBpeModelTest, UnknownCharactersFuse) {
  const SentencePieceModel model = Model({{"a", -9.0f}, {"\u2581", -9.0f}});
  EXPECT_THAT(Encode(model, "éxa\u2581é"),
              ElementsAre(Token(0, 3), Token(1, 1), Token(2, 3), Token(0, 2)));
}

TEST(SentencePieceBpeModelTest, ByteFallbackSpellsUnknownCharacters) {
  SentencePieceModel model =
      Model({{"<0xC3>", 0.0f, PieceType::kByte}, {"<0xA9>", 0.0f, PieceType::kByte}});
  model.byte_fallback = true;
  EXPECT_THAT(Encode(model, "é"), ElementsAre(Token(1, 1), Token(2, 1)));
}

TEST(SentencePieceBpeModelTest, UserDefinedPiecesTakeNoPartInMerges) {
  const SentencePieceModel model =
      Model({{"a", -9.0f}, {"b", 0.0f, PieceType::kUserDefined}, {"ab", -1.0f}, {"aa", -2.0f}});
  EXPECT_THAT(Encode(model, "aabaa"), ElementsAre(Token(4, 2), Token(2, 1), Token(4, 2)));
}

TEST(SentencePieceBpeModelTest, LongAndUnusedPiecesAreErrors) {
  EXPECT_THAT(Create(Model({{std::string(513, 'a'), 0.0f}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("513")));
  EXPECT_THAT(Create(Model({{"a", 0.0f, PieceType::kUnused}})),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("unused")));
}

}  // namespace
}  // namespace phyllo
