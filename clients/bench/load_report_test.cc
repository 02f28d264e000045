#include "clients/bench/load_report.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LoadResult SomeResult() {
  LoadResult result;
  result.seconds = 4;
  result.completed_count = 2;
  result.peak_concurrency = 2;
  result.time_to_first_token = {0.1, 0.3};
  result.inter_token_latency = {0.01, 0.02, 0.03, 0.04};
  result.time_per_output_token = {0.005};
  result.end_to_end_latency = {1, 2};
  result.message_count = 6;
  result.output_token_count = 12;
  result.prompt_token_count = 80;
  result.errors[absl::StatusCode::kUnavailable] = {3, "gone"};
  return result;
}

gateway::v1::GetModelResponse SomeModel() {
  gateway::v1::GetModelResponse model;
  model.set_model("tiny");
  gateway::v1::Backend& backend = *model.add_backends();
  backend.set_service("transformer");
  backend.set_available(true);
  backend.mutable_server()->set_precision("int8");
  backend.mutable_server()->set_instruction_set("avx512_core");
  return model;
}

TEST(LoadReportTest, TableHasRatesAndPercentilesInMilliseconds) {
  const std::string text = FormatLoadReport({}, SomeModel(), SomeResult());
  EXPECT_THAT(text, AllOf(HasSubstr("tiny, int8, avx512_core"),
                          HasSubstr("2 completed, 3 failed, 0 cancelled in 4.00 s (0.50 a second"),
                          HasSubstr("20.0 prompt tokens and 3.0 new tokens a second; 2.00 tokens"),
                          HasSubstr("UNAVAILABLE x 3: gone")));
  EXPECT_THAT(text, HasSubstr("time to first token       200.00    100.00    300.00    300.00"));
  EXPECT_THAT(text, HasSubstr("inter-token latency        25.00     20.00     40.00     40.00"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("Prefix hits")), Not(HasSubstr("Speculation"))));
}

TEST(LoadReportTest, TableShowsWhatTheServerSaved) {
  LoadResult result = SomeResult();
  result.cached_prompt_token_count = 40;
  result.drafted_token_count = 9;
  result.accepted_token_count = 6;
  result.preemption_count = 1;
  EXPECT_THAT(
      FormatLoadReport({}, SomeModel(), result),
      AllOf(HasSubstr("Prefix hits 40 of 80 prompt tokens"),
            HasSubstr("Speculation 6 of 9 drafted tokens accepted"), HasSubstr("Preemptions 1")));
}

TEST(LoadReportTest, NothingMeasuredDividesByNothing) {
  const std::string text = FormatLoadReport({}, SomeModel(), {});
  EXPECT_THAT(text, AllOf(HasSubstr("0 completed"), Not(HasSubstr("nan")),
                          Not(HasSubstr("time to first token"))));
}

TEST(LoadReportTest, JsonHasTheSameNumbers) {
  LoadOptions options;
  options.request_rate = 2.5;
  const nlohmann::ordered_json json = LoadReportToJson(options, SomeModel(), SomeResult());
  EXPECT_EQ(json["mode"], "serving");
  EXPECT_EQ(json["precision"], "int8");
  EXPECT_EQ(json["settings"]["loop"], "open");
  EXPECT_EQ(json["settings"]["prompt_tokens"], "128");
  EXPECT_FALSE(json["settings"].contains("duration_seconds"));
  EXPECT_EQ(json["output_tokens_per_second"], 3.0);
  EXPECT_EQ(json["time_to_first_token_ms"]["p50"], 100.0);
  EXPECT_EQ(json["inter_token_latency_ms"]["count"], 4);
  EXPECT_EQ(json["inter_token_latency_ms"]["p99"], 40.0);
  EXPECT_EQ(json["errors"]["UNAVAILABLE"]["count"], 3);
}

TEST(LoadReportTest, DescriptionSaysWhatIsUnusual) {
  LoadOptions options;
  options.concurrency = 8;
  EXPECT_EQ(DescribeLoad(options), "closed loop, 8 streams; prompt 128, output 64 tokens; seed 1");
  options.request_rate = 0.5;
  options.turns = 3;
  options.shared_prefix_tokens = 20;
  EXPECT_EQ(DescribeLoad(options),
            "open loop, 0.5 a second; prompt 128, output 64 tokens; 3 turns a chat; 20 shared "
            "tokens; seed 1");
}

}  // namespace
}  // namespace phyllo
