#include "model/tokenizer/components/post_processor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<PostProcessor> Make(const char* json) {
  return MakePostProcessor(nlohmann::json::parse(json));
}

TEST(PostProcessorTest, TemplatePutsTokensAround) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PostProcessor made, Make(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "</s>"}}],
      "special_tokens": {"<s>": {"ids": [1]}, "</s>": {"ids": [2, 3]}}})"));
  EXPECT_THAT(made.prefix, ElementsAre(1));
  EXPECT_THAT(made.suffix, ElementsAre(2, 3));
}

TEST(PostProcessorTest, SequenceWrapsFromInside) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PostProcessor made,
                              Make(R"({"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "BertProcessing", "cls": ["c", 1], "sep": ["s", 2]}, {"type": "RobertaProcessing", "cls": ["c", 3], "sep": ["s", 4]}]})"));
  EXPECT_THAT(made.prefix, ElementsAre(3, 1));
  EXPECT_THAT(made.suffix, ElementsAre(2, 4));
}

TEST(PostProcessorTest, NullAddsNothing) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PostProcessor made, Make("null"));
  EXPECT_THAT(made.prefix, IsEmpty());
}

TEST(PostProcessorTest, MalformedTemplatesAreErrors) {
  EXPECT_THAT(
      Make(
          R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]})"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("<s>")));
  EXPECT_THAT(Make(R"({"type": "TemplateProcessing", "single": []})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("leaves the text out")));
  EXPECT_THAT(Make(R"({"type": "BertProcessing", "cls": 3})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cls")));
}

TEST(PostProcessorTest, UnknownTypeIsNamed) {
  EXPECT_THAT(Make(R"({"type": "Magic"})"),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("Magic")));
}

}  // namespace
}  // namespace phyllo
