#include "clients/cli/request/proto_json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "phyllo/gateway/v1/gateway.pb.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(ProtoJsonTest, WritesProtoNamesAndNumbers) {
  common::v1::Usage usage;
  usage.set_prompt_token_count(5'000'000'000);
  const nlohmann::ordered_json json = ToJson(usage);
  EXPECT_EQ(json["prompt_token_count"], 5'000'000'000);
  EXPECT_EQ(json["generated_token_count"], 0);
}

TEST(ProtoJsonTest, WritesFieldsWithPresenceOnlyWhenSet) {
  common::v1::SamplingParameters sampling;
  sampling.set_temperature(0);
  EXPECT_EQ(
      DumpJson(ToJson(sampling)),
      R"({"temperature":0.0,"logit_bias":{},"allowed_token_ids":[],"banned_token_sequences":[]})");
}

TEST(ProtoJsonTest, WritesShortestFloat) {
  common::v1::SamplingParameters sampling;
  sampling.set_top_p(0.9f);
  EXPECT_EQ(ToJson(sampling)["top_p"].dump(), "0.9");
}

TEST(ProtoJsonTest, WritesEnumsDurationsBytesAndMaps) {
  gateway::v1::Finished finished;
  finished.set_finish_reason(common::v1::FINISH_REASON_LENGTH);
  finished.mutable_latency()->mutable_total()->set_nanos(500'000'000);
  finished.mutable_resolved()->set_path_fingerprint("\xff\x01");
  (*finished.mutable_resolved()->mutable_sampling()->mutable_logit_bias())[7] = 1.5f;
  const nlohmann::ordered_json json = ToJson(finished);
  EXPECT_EQ(json["finish_reason"], "FINISH_REASON_LENGTH");
  EXPECT_EQ(json["latency"]["total"], "0.500s");
  EXPECT_EQ(json["resolved"]["path_fingerprint"], "/wE=");
  EXPECT_EQ(json["resolved"]["sampling"]["logit_bias"].dump(), R"({"7":1.5})");
}

TEST(ProtoJsonTest, WhatIsWrittenReadsBack) {
  gateway::v1::GenerateRequest request;
  request.set_text("a\"\n\u00e9");
  request.mutable_sampling()->set_temperature(0.7f);
  request.mutable_sampling()->set_seed(18'446'744'073'709'551'615u);
  request.mutable_stopping()->mutable_time_limit()->set_seconds(3);
  request.mutable_context()->set_prefix_cache_salt("\xfe");
  request.add_stop_sequences("x");

  gateway::v1::GenerateRequest read;
  PHYLLO_ASSERT_OK(MergeFromJson(DumpJson(ToJson(request)), read));

  EXPECT_EQ(read.DebugString(), request.DebugString());
}

TEST(ProtoJsonTest, MergeKeepsWhatTheJsonLeavesOpen) {
  gateway::v1::GenerateRequest request;
  request.mutable_sampling()->set_top_k(5);
  PHYLLO_ASSERT_OK(MergeFromJson(R"({"text": "a", "sampling": {"temperature": 0}})", request));
  EXPECT_EQ(request.sampling().top_k(), 5);
  EXPECT_EQ(request.text(), "a");
}

TEST(ProtoJsonTest, MergeRefusesUnknownName) {
  gateway::v1::GenerateRequest request;
  EXPECT_THAT(MergeFromJson(R"({"prompt": "a"})", request),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("prompt")));
}

TEST(ProtoJsonTest, MergeRefusesWhatIsNoJson) {
  gateway::v1::GenerateRequest request;
  EXPECT_THAT(MergeFromJson("Once upon a time", request),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ProtoJsonTest, ErrorsHaveCodeMessageAndReason) {
  const absl::Status status =
      WithReason(absl::NotFoundError("no such model"), {"UNKNOWN_MODEL", {}});
  EXPECT_EQ(DumpJson(ErrorToJson(status)),
            R"({"error":{"code":"NOT_FOUND","message":"no such model","reason":"UNKNOWN_MODEL"}})");
}

TEST(ProtoJsonTest, DumpReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(DumpJson(nlohmann::ordered_json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

}  // namespace
}  // namespace phyllo
