#include "clients/bench/model/model_bench.h"

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "clients/bench/model/model_bench_report.h"
#include "clients/launcher/service_binaries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/gguf/model_files.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/precision/packed_bytes.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Tests of few tokens on the demo model.
ModelBenchOptions SmallOptions() {
  ModelBenchOptions options;
  options.model = FindDemoModel().value_or("");
  options.threads = 1;
  options.prompt_tokens = {20};
  options.new_tokens = {3};
  options.batches = {1, 2};
  options.chunk = 8;
  options.repetitions = 2;
  return options;
}

TEST(ModelBenchTest, MeasuresEveryTestAsOftenAsAsked) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelBenchResult result, RunModelBench(SmallOptions(), {}));
  ASSERT_THAT(result.tests, SizeIs(3));
  EXPECT_TRUE(result.tests[0].is_prefill);
  EXPECT_EQ(result.tests[0].tokens, 20);
  EXPECT_FALSE(result.tests[2].is_prefill);
  EXPECT_EQ(result.tests[2].batch, 2);
  for (const ModelBenchTest& test : result.tests) {
    EXPECT_THAT(test.tokens_per_second, AllOf(SizeIs(2), Each(Gt(0))));
    EXPECT_THAT(test.bound_tokens_per_second, SizeIs(0));
  }
  EXPECT_EQ(result.threads, 1);
  EXPECT_GT(result.weight_bytes, 0);
}

TEST(ModelBenchTest, BoundIsMeasuredBesideEveryPrecision) {
  for (const char* const precision : {"f32", "bf16", "int8", "int4"}) {
    ModelBenchOptions options = SmallOptions();
    options.precision = precision;
    options.bound = true;
    options.depth = 5;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelBenchResult result, RunModelBench(options, {}));
    EXPECT_EQ(result.precision, precision);
    ASSERT_THAT(result.tests, SizeIs(3));
    for (const ModelBenchTest& test : result.tests)
      EXPECT_THAT(test.bound_tokens_per_second, AllOf(SizeIs(2), Each(Gt(0))));
  }
}

TEST(ModelBenchTest, ReportsTheBytesOfThePackedWeights) {
  ModelBenchOptions options = SmallOptions();
  options.prompt_tokens = {1};
  options.new_tokens = {0};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string text, ReadModelFile(options.model, "config.json"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(text));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription description, DescribeDecoder(config));
  options.precision = "int8";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelBenchResult result, RunModelBench(options, {}));
  EXPECT_EQ(result.weight_bytes,
            PackedWeightBytes(description, ModelPrecision::Of(Precision::kInt8)));
}

TEST(ModelBenchTest, ZeroLeavesATestOut) {
  ModelBenchOptions options = SmallOptions();
  options.prompt_tokens = {0};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelBenchResult result, RunModelBench(options, {}));
  ASSERT_THAT(result.tests, SizeIs(2));
  EXPECT_FALSE(result.tests[0].is_prefill);
}

TEST(ModelBenchTest, InterruptKeepsFinishedTests) {
  std::atomic<bool> interrupted{false};
  const auto interrupt_in_decode = [&](const std::string& text) {
    if (text.find("decode") != std::string::npos) interrupted = true;
  };
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelBenchResult result,
                              RunModelBench(SmallOptions(), {.interrupted = &interrupted,
                                                             .observer = interrupt_in_decode}));
  EXPECT_THAT(result.tests, SizeIs(1));
}

TEST(ModelBenchTest, ErrorsNameValueAndLimit) {
  const auto error = [](auto change) {
    ModelBenchOptions options = SmallOptions();
    change(options);
    const absl::Status status = RunModelBench(options, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error([](ModelBenchOptions& options) { options.batches = {0}; }),
            "-b is 0, must be in [1, 4096]");
  EXPECT_EQ(error([](ModelBenchOptions& options) { options.repetitions = 0; }),
            "-r is 0, must be in [1, 1000]");
  EXPECT_THAT(error([](ModelBenchOptions& options) {
                options.prompt_tokens = {0};
                options.new_tokens = {0};
              }),
              HasSubstr("nothing to measure"));
  EXPECT_THAT(error([](ModelBenchOptions& options) { options.precision = "int3"; }),
              HasSubstr("int3"));
  EXPECT_THAT(error([](ModelBenchOptions& options) { options.new_tokens = {1 << 20}; }),
              AllOf(HasSubstr("1048576"), HasSubstr("positions")));
}

ModelBenchResult SomeResult() {
  return {.precision = "int8",
          .instruction_set = "avx512_core",
          .threads = 2,
          .load_seconds = 1.5,
          .weight_bytes = 2'000'000,
          .tests = {{.is_prefill = true,
                     .tokens = 512,
                     .batch = 1,
                     .tokens_per_second = {100, 300, 200},
                     .bound_tokens_per_second = {200, 400, 250}}}};
}

TEST(ModelBenchReportTest, TableHasMedianSpreadAndShareOfTheBound) {
  ModelBenchOptions options;
  options.bound = true;
  const std::string text = FormatModelBench(options, SomeResult());
  EXPECT_THAT(text, HasSubstr("int8, avx512_core, 2 threads, 2 MB of weights, loaded in 1.50 s"));
  // The shares are 50, 75 and 80 percent.
  EXPECT_THAT(text, HasSubstr("prefill        512       1         200.0       100.0       300.0"
                              "        75 %"));
}

TEST(ModelBenchReportTest, JsonHasEveryValue) {
  const nlohmann::ordered_json json = ModelBenchToJson({}, SomeResult());
  EXPECT_EQ(json["mode"], "in_process");
  EXPECT_EQ(json["tests"][0]["kind"], "prefill");
  EXPECT_EQ(json["tests"][0]["tokens_per_second"]["median"], 200.0);
  EXPECT_EQ(json["tests"][0]["tokens_per_second"]["values"].size(), 3);
  EXPECT_EQ(json["tests"][0]["percent_of_bound"], 75.0);
}

}  // namespace
}  // namespace phyllo
