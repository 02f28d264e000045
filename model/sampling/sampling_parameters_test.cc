#include "model/sampling/sampling_parameters.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 10;

TEST(ValidateSamplingParametersTest, AcceptsDefaults) {
  PHYLLO_EXPECT_OK(ValidateSamplingParameters({}, kVocabSize));
}

TEST(ValidateSamplingParametersTest, AcceptsTheEdgesOfTheRanges) {
  SamplingParameters parameters;
  parameters.temperature = 0.0f;
  parameters.top_k = 1;
  parameters.top_p = 1e-9f;
  parameters.min_p = 1.0f;
  parameters.repetition_penalty = kMaxRepetitionPenalty;
  parameters.frequency_penalty = -kMaxAdditivePenalty;
  parameters.presence_penalty = kMaxAdditivePenalty;
  parameters.logit_bias = {{0, -kMaxLogitBias}, {kVocabSize - 1, kMaxLogitBias}};
  parameters.allowed_token_ids = {0, kVocabSize - 1};
  parameters.stop_token_ids = {0};
  parameters.min_tokens = 1;
  parameters.top_logprobs = kMaxTopLogprobs;
  parameters.typical_p = 1e-9f;
  parameters.top_n_sigma = kMaxTopNSigma;
  parameters.penalty_window = 1;
  parameters.no_repeat_ngram_size = 1;
  parameters.banned_sequences = {{1}, std::vector<int32_t>(kMaxBannedSequenceLength, 9)};
  parameters.dry = DryParameters{.multiplier = kMaxDryMultiplier, .base = 1, .allowed_length = 0};
  parameters.xtc = XtcParameters{.probability = 1, .threshold = kMaxXtcThreshold};
  PHYLLO_EXPECT_OK(ValidateSamplingParameters(parameters, kVocabSize));
}

struct BadCase {
  std::string name;
  std::function<void(SamplingParameters&)> spoil;
  std::string message;
};

class InvalidSamplingParametersTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(InvalidSamplingParametersTest, ReturnsInvalidArgumentNamingValueAndRange) {
  SamplingParameters parameters;
  GetParam().spoil(parameters);
  EXPECT_THAT(ValidateSamplingParameters(parameters, kVocabSize),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Ranges, InvalidSamplingParametersTest,
    ::testing::Values(
        BadCase{"NegativeTemperature", [](auto& p) { p.temperature = -0.5f; },
                "temperature is -0.5, must be in [0, 100]"},
        BadCase{"NanTemperature",
                [](auto& p) { p.temperature = std::numeric_limits<float>::quiet_NaN(); },
                "temperature is nan"},
        BadCase{"InfiniteTemperature",
                [](auto& p) { p.temperature = std::numeric_limits<float>::infinity(); },
                "temperature is inf"},
        BadCase{"ZeroTopK", [](auto& p) { p.top_k = 0; }, "top_k is 0, must be in [1, 2^31)"},
        BadCase{"ZeroTopP", [](auto& p) { p.top_p = 0.0f; }, "top_p is 0, must be in (0, 1]"},
        BadCase{"LargeTopP", [](auto& p) { p.top_p = 1.5f; }, "top_p is 1.5, must be in (0, 1]"},
        BadCase{"LargeMinP", [](auto& p) { p.min_p = 1.5f; }, "min_p is 1.5, must be in [0, 1]"},
        BadCase{"ZeroTypicalP", [](auto& p) { p.typical_p = 0.0f; },
                "typical_p is 0, must be in (0, 1]"},
        BadCase{"ZeroTopNSigma", [](auto& p) { p.top_n_sigma = 0.0f; },
                "top_n_sigma is 0, must be in (0, 1000]"},
        BadCase{"ZeroPenaltyWindow", [](auto& p) { p.penalty_window = 0; },
                "penalty_window is 0, must be in [1, 2^31)"},
        BadCase{"ZeroNgramSize", [](auto& p) { p.no_repeat_ngram_size = 0; },
                "no_repeat_ngram_size is 0, must be in [1, 2^31)"},
        BadCase{"EmptyBannedSequence", [](auto& p) { p.banned_sequences = {{1}, {}}; },
                "the number of ids in one of banned_sequences is 0, must be in [1, 256]"},
        BadCase{"TooManyBannedSequences",
                [](auto& p) {
                  p.banned_sequences.assign(1025, {1});
                },
                "the number of banned_sequences is 1025, must be in [0, 1024]"},
        BadCase{"UnknownBannedToken",
                [](auto& p) {
                  p.banned_sequences = {{1, 10}};
                },
                "a token id of banned_sequences is 10, must be in [0, 10)"},
        BadCase{"ZeroDryMultiplier", [](auto& p) { p.dry = DryParameters{.multiplier = 0.0f}; },
                "dry.multiplier is 0, must be in (0, 100]"},
        BadCase{"LowDryBase", [](auto& p) { p.dry = DryParameters{.base = 0.5f}; },
                "dry.base is 0.5, must be in [1, 100]"},
        BadCase{"NegativeDryLength", [](auto& p) { p.dry = DryParameters{.allowed_length = -1}; },
                "dry.allowed_length is -1, must be in [0, 2^31)"},
        BadCase{"UnknownDryBreaker",
                [](auto& p) { p.dry = DryParameters{.breaker_token_ids = {10}}; },
                "a token id of dry.breaker_token_ids is 10"},
        BadCase{"LargeXtcProbability", [](auto& p) { p.xtc = XtcParameters{.probability = 2.0f}; },
                "xtc.probability is 2, must be in [0, 1]"},
        BadCase{"LargeXtcThreshold", [](auto& p) { p.xtc = XtcParameters{.threshold = 0.6f}; },
                "xtc.threshold is 0.6, must be in [0, 0.5]"},
        BadCase{"ZeroRepetitionPenalty", [](auto& p) { p.repetition_penalty = 0.0f; },
                "repetition_penalty is 0, must be in (0, 100]"},
        BadCase{"LargeFrequencyPenalty", [](auto& p) { p.frequency_penalty = 100.5f; },
                "frequency_penalty is 100.5, must be in [-100, 100]"},
        BadCase{"LowPresencePenalty", [](auto& p) { p.presence_penalty = -100.5f; },
                "presence_penalty is -100.5, must be in [-100, 100]"},
        BadCase{"BiasOfUnknownToken",
                [](auto& p) {
                  p.logit_bias = {{10, 1.0f}};
                },
                "a token id of logit_bias is 10, must be in [0, 10)"},
        BadCase{"LargeBias",
                [](auto& p) {
                  p.logit_bias = {{1, 1001.0f}};
                },
                "a value of logit_bias is 1001, must be in [-1000, 1000]"},
        BadCase{"BiasTwice",
                [](auto& p) {
                  p.logit_bias = {{1, 1.0f}, {1, 2.0f}};
                },
                "logit_bias names token id 1 twice"},
        BadCase{"TooManyBiases", [](auto& p) { p.logit_bias.resize(kMaxLogitBiasCount + 1); },
                "the number of logit_bias entries is 1025, must be in [0, 1024]"},
        BadCase{"UnknownAllowedToken", [](auto& p) { p.allowed_token_ids = {-1}; },
                "a token id of allowed_token_ids is -1"},
        BadCase{"UnknownStopToken", [](auto& p) { p.stop_token_ids = {11}; },
                "a token id of stop_token_ids is 11"},
        BadCase{"NegativeMinTokens", [](auto& p) { p.min_tokens = -1; }, "min_tokens is -1"},
        BadCase{"NegativeChoice", [](auto& p) { p.choice = -1; }, "choice is -1"},
        BadCase{"TooManyTopLogprobs", [](auto& p) { p.top_logprobs = 129; },
                "top_logprobs is 129, must be in [0, 128]"},
        BadCase{"UnknownLogprobToken", [](auto& p) { p.logprob_token_ids = {10}; },
                "a token id of logprob_token_ids is 10"},
        BadCase{"TooManyLogprobTokens", [](auto& p) { p.logprob_token_ids.resize(129); },
                "the number of logprob_token_ids is 129"},
        BadCase{"NothingLeftBeforeMinTokens",
                [](auto& p) {
                  p.min_tokens = 3;
                  p.allowed_token_ids = {4, 5};
                  p.stop_token_ids = {5, 4, 6};
                },
                "min_tokens is 3, but every allowed token id is banned"},
        BadCase{"NothingLeftBesideTheBanned",
                [](auto& p) {
                  p.allowed_token_ids = {4};
                  p.banned_sequences = {{4}};
                },
                "every allowed token id is banned"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace phyllo
