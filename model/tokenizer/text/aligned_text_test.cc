#include "model/tokenizer/text/aligned_text.h"

#include "gtest/gtest.h"

namespace phyllo {
namespace {

TEST(AlignedTextTest, UnchangedTextMapsToItself) {
  const AlignedText text("hello", 10, /*tracked=*/false);
  EXPECT_EQ(text.OriginalRange(1, 3), (ByteRange{11, 13}));
}

TEST(AlignedTextTest, InsertedTextMapsToPlace) {
  const AlignedText text("ab", 0, /*tracked=*/true);
  AlignedText changed = text.MakeEmpty();
  changed.AppendInstead("__", text, 1, 1);
  changed.AppendFrom(text, 1, 2);
  EXPECT_EQ(changed.view(), "__b");
  EXPECT_EQ(changed.OriginalRange(0, 2), (ByteRange{1, 1}));
  EXPECT_EQ(changed.OriginalRange(0, 3), (ByteRange{1, 2}));
}

TEST(AlignedTextTest, ReplacementMapsToAllItReplaced) {
  const AlignedText text("abc", 5, /*tracked=*/true);
  AlignedText changed = text.MakeEmpty();
  changed.AppendFrom(text, 0, 1);
  changed.AppendInstead("xyz", text, 1, 3);
  EXPECT_EQ(changed.OriginalRange(2, 3), (ByteRange{6, 8}));
}

TEST(AlignedTextTest, SliceKeepsAlignment) {
  const AlignedText text("abc", 0, /*tracked=*/true);
  EXPECT_EQ(text.Slice(1, 3).OriginalRange(0, 1), (ByteRange{1, 2}));
  AlignedText changed = text.MakeEmpty();
  changed.AppendInstead("--", text, 0, 0);
  changed.AppendFrom(text, 0, 3);
  EXPECT_EQ(changed.Slice(2, 5).OriginalRange(1, 3), (ByteRange{1, 3}));
}

}  // namespace
}  // namespace phyllo
