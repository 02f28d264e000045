#include "clients/cli/request/request_settings.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A value that fits the setting's type.
std::string SampleValue(const RequestSetting& setting) {
  if (setting.value_name == "ID=BIAS") return "3=1.5";
  if (setting.value_name == "BOOL") return "true";
  if (setting.value_name == "TIME") return "2s";
  return "1";
}

TEST(RequestSettingsTest, EachSettingSetsAndClearsItsField) {
  for (const RequestSetting& setting : RequestSettings()) {
    gateway::v1::GenerateRequest request;
    PHYLLO_EXPECT_OK(SetRequestField(setting.name, SampleValue(setting), request)) << setting.name;
    EXPECT_EQ(DescribeRequestSettings(request).size(), 1) << setting.name;
    PHYLLO_EXPECT_OK(ClearRequestField(setting.name, request)) << setting.name;
    EXPECT_THAT(DescribeRequestSettings(request), IsEmpty()) << setting.name;
  }
}

TEST(RequestSettingsTest, NamesAreUnique) {
  std::set<absl::string_view> names;
  for (const RequestSetting& setting : RequestSettings())
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
}

TEST(RequestSettingsTest, UnsetFieldsStayAbsent) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("temperature", "0", request));
  EXPECT_TRUE(request.sampling().has_temperature());
  EXPECT_EQ(request.sampling().temperature(), 0);
  EXPECT_FALSE(request.sampling().has_top_k());
  EXPECT_FALSE(request.has_stopping());
}

TEST(RequestSettingsTest, UnderscoresCountAsDashes) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("top_k", "20", request));
  EXPECT_EQ(request.sampling().top_k(), 20);
}

TEST(RequestSettingsTest, BansSequencesOfIds) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("ban-ids", "5,6", request));
  PHYLLO_ASSERT_OK(SetRequestField("ban-ids", "7", request));
  ASSERT_EQ(request.sampling().banned_token_sequences_size(), 2);
  EXPECT_THAT(request.sampling().banned_token_sequences(0).token_ids(), ElementsAre(5, 6));
  EXPECT_THAT(SetRequestField("ban-ids", "5,x", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ban-ids")));
}

TEST(RequestSettingsTest, RepeatedSettingsAddUp) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("stop", "\n", request));
  PHYLLO_ASSERT_OK(SetRequestField("stop", "END", request));
  EXPECT_THAT(request.stop_sequences(), ElementsAre("\n", "END"));
}

TEST(RequestSettingsTest, ReadsLogitBias) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("logit-bias", "7=-2.5", request));
  EXPECT_EQ(request.sampling().logit_bias().at(7), -2.5f);
}

TEST(RequestSettingsTest, ReadsFractionsOfSeconds) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("time-limit", "1m1.5s", request));
  EXPECT_EQ(request.stopping().time_limit().seconds(), 61);
  EXPECT_EQ(request.stopping().time_limit().nanos(), 500'000'000);
}

TEST(RequestSettingsTest, RefusesUnknownName) {
  gateway::v1::GenerateRequest request;
  EXPECT_THAT(SetRequestField("temprature", "1", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("temprature")));
  EXPECT_THAT(ClearRequestField("temprature", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("temprature")));
}

TEST(RequestSettingsTest, RefusesWrongTypeAndLeavesTheRequest) {
  gateway::v1::GenerateRequest request;
  EXPECT_THAT(SetRequestField("top-k", "1.5", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("top-k: \"1.5\" is no K")));
  EXPECT_THAT(SetRequestField("seed", "-1", request), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(SetRequestField("time-limit", "fast", request),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(request.ByteSizeLong(), 0);
}

TEST(RequestSettingsTest, DescribesShortestValue) {
  gateway::v1::GenerateRequest request;
  PHYLLO_ASSERT_OK(SetRequestField("temperature", "0.6", request));
  EXPECT_THAT(DescribeRequestSettings(request), ElementsAre("temperature = 0.6"));
}

}  // namespace
}  // namespace phyllo
