// The embedded demo model against transformers: 12 prompts, 120 greedy tokens each.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/model_runner.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

struct GoldenCase {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> output_ids;
  std::vector<double> margins;  // [output_ids], top-1 minus top-2 logit
  std::vector<std::pair<int32_t, double>>
      first_logits;  // ids and their logits after the prompt, rounded to 1e-5
};

std::vector<GoldenCase> ReadCases() {
  std::ifstream file("tests/golden/data/demo/golden.json");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::vector<GoldenCase> cases;
  if (!json.is_object()) return cases;
  for (const nlohmann::json& entry : json["cases"]) {
    cases.push_back({.input_ids = entry["input_ids"],
                     .output_ids = entry["output_ids"],
                     .margins = entry["margins"],
                     .first_logits = entry["first_step_top20"]});
  }
  return cases;
}

class DemoGoldenTest : public testing::Test {
 protected:
  void Load(Precision precision) {
    cases_ = ReadCases();
    ASSERT_EQ(cases_.size(), 12);
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        runner_, ModelRunner::Load("model/demo", {.precision = ModelPrecision::Of(precision)}));
  }

  // The largest error of the golden first logits.
  double FirstLogitsError(const GoldenCase& golden, absl::Span<const float> logits) const {
    double error = 0;
    for (const auto& [id, logit] : golden.first_logits)
      error = std::fmax(error, std::abs(logits[id] - logit));
    return error;
  }

  // Logits after the prompt, [v].
  std::vector<float> Prefill(const GoldenCase& golden, SequencePages& pages) {
    const auto logits = runner_->Prefill(pages, golden.input_ids, /*chunk=*/64);
    EXPECT_THAT(logits, IsOk());
    return logits.ok() ? std::vector<float>(logits->end() - runner_->vocab_size(), logits->end())
                       : std::vector<float>();
  }

  // Logits after output token `index`, [v].
  std::vector<float> Decode(const GoldenCase& golden, SequencePages& pages, int32_t id,
                            int64_t index) {
    const int64_t prompt_length = static_cast<int64_t>(golden.input_ids.size());
    const SequenceChunk chunk = {.pages = &pages,
                                 .first_position = prompt_length + index,
                                 .prompt_length = prompt_length,
                                 .token_ids = absl::MakeConstSpan(&id, 1)};
    const auto logits = runner_->Step({chunk});
    EXPECT_THAT(logits, IsOk());
    return logits.ok() ? *logits : std::vector<float>();
  }

  std::vector<GoldenCase> cases_;
  std::unique_ptr<ModelRunner> runner_;
};

TEST_F(DemoGoldenTest, GeneratesTheGoldenTokensInF32) {
  ASSERT_NO_FATAL_FAILURE(Load(Precision::kF32));
  for (const GoldenCase& golden : cases_) {
    SequencePages pages = runner_->NewSequence();
    std::vector<float> logits = Prefill(golden, pages);
    std::vector<int32_t> generated;
    while (generated.size() < golden.output_ids.size() && !logits.empty()) {
      generated.push_back(static_cast<int32_t>(ArgmaxOf(logits)));
      logits = Decode(golden, pages, generated.back(), static_cast<int64_t>(generated.size()) - 1);
    }
    EXPECT_EQ(generated, golden.output_ids);
  }
}

TEST_F(DemoGoldenTest, MatchesTheFirstLogitsInF32) {
  ASSERT_NO_FATAL_FAILURE(Load(Precision::kF32));
  for (const GoldenCase& golden : cases_) {
    SequencePages pages = runner_->NewSequence();
    const double error = FirstLogitsError(golden, Prefill(golden, pages));
    std::printf("demo f32 first logits: error %.1e of 1e-04\n", error);
    // The goldens are rounded to 1e-5; the logits have a standard deviation of about 4.
    EXPECT_LE(error, 1e-4);
  }
}

// The largest error of a logit in a precision that rounds, and the least share of the greedy tokens
// that are the golden ones, wherever their margin is.
struct Rounding {
  Precision precision;
  double largest_error;
  double token_share;
};

class RoundingTest : public DemoGoldenTest, public testing::WithParamInterface<Rounding> {};

TEST_P(RoundingTest, AgreesWhereTheMarginIsAboveTheNoise) {
  const double largest_error = GetParam().largest_error;
  const char* const name = PrecisionName(GetParam().precision);
  ASSERT_NO_FATAL_FAILURE(Load(GetParam().precision));
  int64_t decided = 0, identical = 0, all = 0;
  for (const GoldenCase& golden : cases_) {
    SequencePages pages = runner_->NewSequence();
    std::vector<float> logits = Prefill(golden, pages);
    const double error = FirstLogitsError(golden, logits);
    EXPECT_LE(error, largest_error);
    for (size_t i = 0; i < golden.output_ids.size(); ++i, ++all) {
      const int64_t id = ArgmaxOf(logits);
      identical += id == golden.output_ids[i];
      if (golden.margins[i] > 2 * largest_error) {
        EXPECT_EQ(id, golden.output_ids[i]) << "token " << i << ", margin " << golden.margins[i];
        ++decided;
      }
      logits = Decode(golden, pages, golden.output_ids[i], static_cast<int64_t>(i));
    }
    std::printf("demo %s first logits: error %.3f of %.3f\n", name, error, largest_error);
  }
  std::printf("demo %s: %d of %d tokens identical, %d with a margin above the noise\n", name,
              static_cast<int>(identical), static_cast<int>(all), static_cast<int>(decided));
  EXPECT_GE(static_cast<double>(identical), GetParam().token_share * static_cast<double>(all));
  EXPECT_GT(decided, 0);
}

// Logits have a standard deviation of about 4. bf16 rounds operands to 2^-9, which moves them by 1
// or 2 percent of it.
INSTANTIATE_TEST_SUITE_P(Precisions, RoundingTest,
                         testing::Values(Rounding{Precision::kBf16, 0.1, 0.98},
                                         Rounding{Precision::kInt8, 0.8, 0.96},
                                         Rounding{Precision::kInt4, 3.5, 0.9}),
                         [](const auto& info) { return PrecisionName(info.param.precision); });

}  // namespace
}  // namespace phyllo
