#include "model/tokenizer/sentencepiece/sentencepiece_normalizer.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tokenizer/components/precompiled_charsmap.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/regex.h"
#include "model/tokenizer/word_models/prefix_trie.h"

namespace phyllo {
namespace {

std::string Normalize(const SentencePieceNormalizer::Options& options, absl::string_view text,
                      int64_t base = 0) {
  const SentencePieceNormalizer normalizer(options, PrecompiledCharsmap(),
                                           PrefixTrie({{"x y", 1}}));
  RegexScratch scratch;
  const auto result = normalizer.Normalize(AlignedText(text, base, /*tracked=*/true), &scratch);
  EXPECT_THAT(result, IsOk());
  return std::string(result->view());
}

TEST(SentencePieceNormalizerTest, RemovesExtraSpaces) {
  EXPECT_EQ(Normalize({}, "  a   b "), "▁a▁b");
  EXPECT_EQ(Normalize({}, "   "), "");
  EXPECT_EQ(Normalize({}, ""), "");
}

TEST(SentencePieceNormalizerTest, KeepsSpacesIfAsked) {
  SentencePieceNormalizer::Options options;
  options.remove_extra_whitespaces = false;
  EXPECT_EQ(Normalize(options, " a  "), "▁▁a▁▁");
  EXPECT_EQ(Normalize(options, ""), "");
  options.add_dummy_prefix = false;
  options.escape_whitespaces = false;
  EXPECT_EQ(Normalize(options, " a "), " a ");
}

TEST(SentencePieceNormalizerTest, PrefixOnlyWhereTextBeginsIfAsked) {
  SentencePieceNormalizer::Options options;
  EXPECT_EQ(Normalize(options, "a", /*base=*/3), "▁a");
  options.prefix_only_first = true;
  EXPECT_EQ(Normalize(options, "a", /*base=*/3), "a");
  EXPECT_EQ(Normalize(options, "a", /*base=*/0), "▁a");
}

TEST(SentencePieceNormalizerTest, RemembersOriginalBytes) {
  const SentencePieceNormalizer normalizer({}, PrecompiledCharsmap(), PrefixTrie());
  RegexScratch scratch;
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const AlignedText text,
      normalizer.Normalize(AlignedText(" a  b ", 0, /*tracked=*/true), &scratch));
  ASSERT_EQ(text.view(), "▁a▁b");
  EXPECT_EQ(text.OriginalRange(3, 4), (ByteRange{1, 2}));
  EXPECT_EQ(text.OriginalRange(7, 8), (ByteRange{4, 5}));
}

}  // namespace
}  // namespace phyllo
