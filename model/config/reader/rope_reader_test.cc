#include "model/config/reader/rope_reader.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/rope_parameters.h"
#include "model/config/testing/small_config.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(ReadRopeTest, ReadsOldNameOfTheType) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}));
  EXPECT_EQ(decoder.ropes[0].parameters.rope_type, RopeType::kLinear);
  EXPECT_EQ(decoder.ropes[0].parameters.factor, 4.0);
  EXPECT_EQ(decoder.ropes[0].rotary_dim, 16);
}

TEST(ReadRopeTest, RotatesAPartOfTheHead) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("llama", {{"partial_rotary_factor", 0.5}}));
  EXPECT_EQ(decoder.ropes[0].rotary_dim, 8);
}

// A config, the code of its error and what the message must say.
struct BadRope {
  std::string name;
  Json json;
  absl::StatusCode code;
  std::string message;
};

class BadRopeTest : public ::testing::TestWithParam<BadRope> {};

TEST_P(BadRopeTest, IsRefusedByName) {
  EXPECT_THAT(ParseModelConfig(GetParam().json.dump()),
              StatusIs(GetParam().code, HasSubstr(GetParam().message)));
}

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

INSTANTIATE_TEST_SUITE_P(
    Rope, BadRopeTest,
    ::testing::Values(
        BadRope{"ThetaOne", SmallConfig("llama", {{"rope_theta", 1.0}}), kInvalid,
                "rope_theta must be over 1"},
        BadRope{"TwoThetas", SmallConfig("llama", {{"rope_parameters", {{"rope_theta", 5e5}}}}),
                kInvalid, "rope_theta has two values"},
        BadRope{
            "TwoTypes",
            SmallConfig("llama", {{"rope_scaling",
                                   {{"type", "linear"}, {"rope_type", "yarn"}, {"factor", 2}}}}),
            kInvalid, "type has two values, yarn and linear"},
        BadRope{"NoFactor", SmallConfig("llama", {{"rope_scaling", {{"type", "linear"}}}}),
                kInvalid, "factor is missing"},
        BadRope{"SmallFactor",
                SmallConfig("llama", {{"rope_scaling", {{"type", "linear"}, {"factor", 0.5}}}}),
                kInvalid, "factor must be in 1"},
        BadRope{"NoType", SmallConfig("llama", {{"rope_scaling", {{"factor", 2}}}}), kInvalid,
                "has a factor and no rope_type"},
        BadRope{"NotObject", SmallConfig("llama", {{"rope_scaling", "linear"}}), kInvalid,
                "rope_scaling must be an object"},
        BadRope{"Llama3NoBands",
                SmallConfig("llama", {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8}}}}),
                kInvalid, "low_freq_factor is missing"},
        BadRope{"Llama3Bands",
                SmallConfig("llama", {{"rope_scaling",
                                       {{"rope_type", "llama3"},
                                        {"factor", 8},
                                        {"low_freq_factor", 4},
                                        {"high_freq_factor", 4}}}}),
                kInvalid, "high_freq_factor must be over low_freq_factor"},
        BadRope{"YarnBetas",
                SmallConfig(
                    "llama",
                    {{"rope_scaling",
                      {{"rope_type", "yarn"}, {"factor", 8}, {"beta_fast", 1}, {"beta_slow", 2}}}}),
                kInvalid, "beta_fast must not be under beta_slow"},
        BadRope{"FractionOriginal",
                SmallConfig("llama", {{"rope_scaling",
                                       {{"rope_type", "yarn"},
                                        {"factor", 8},
                                        {"original_max_position_embeddings", 64.5}}}}),
                kInvalid, "must be whole"},
        BadRope{"Type",
                SmallConfig("llama", {{"rope_scaling", {{"type", "spiral"}, {"factor", 2}}}}),
                kUnsupported, "rope_type \"spiral\" is not supported"},
        BadRope{"UnknownKey",
                SmallConfig("llama",
                            {{"rope_scaling", {{"type", "default"}, {"mrope_section", {1, 2}}}}}),
                kUnsupported, "option mrope_section is not supported"},
        BadRope{"OddPart", SmallConfig("llama", {{"partial_rotary_factor", 0.95}}), kInvalid,
                "head_dim * partial_rotary_factor must be even for RoPE, is 15"},
        BadRope{"NoPart", SmallConfig("llama", {{"partial_rotary_factor", 0.05}}), kInvalid,
                "head_dim * partial_rotary_factor must be at least 2 for RoPE, is 0"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace phyllo
