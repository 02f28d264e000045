#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/rope_parameters.h"
#include "model/config/testing/small_config.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kUnsupported = absl::StatusCode::kUnimplemented;

// The first generation has Llama's own keys.
Json First(const Json& changes = Json::object()) {
  Json json = {{"model_type", "minimind"},
               {"vocab_size", 512},
               {"dim", 64},
               {"n_layers", 2},
               {"n_heads", 4},
               {"n_kv_heads", 2},
               {"max_seq_len", 512},
               {"norm_eps", 1e-5},
               {"multiple_of", 64},
               {"rope_theta", 1e6},
               {"use_moe", false},
               {"n_routed_experts", 4},
               {"n_shared_experts", true},
               {"num_experts_per_tok", 2}};
  json.merge_patch(changes);
  return json;
}

// Changes that make the small config one of the second generation.
Json Second(const Json& changes = Json::object()) {
  Json json = {{"num_experts", nullptr}, {"head_dim", nullptr}, {"n_routed_experts", 4}};
  json.update(changes);  // keeps nulls
  return json;
}

TEST(MinimindFirstTest, RotatesNeighboursAndHasLlamasOwnNames) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(First().dump()));
  const DecoderDescription& decoder = config.decoder;
  EXPECT_EQ(decoder.ropes[0].layout, RopeLayout::kInterleaved);
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 192);  // 64 * ceil(170 / 64)
  EXPECT_EQ(decoder.max_position_embeddings, 512);
  EXPECT_TRUE(decoder.tie_word_embeddings);
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_EQ(map.Find(WeightRole::kOProj, 1)->names.front(), "layers.1.attention.wo.weight");
  EXPECT_THAT(map.tied_names, ElementsAre("output.weight"));
}

TEST(MinimindFirstTest, HasOneSharedExpert) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config,
                              ParseModelConfig(First({{"use_moe", true}}).dump()));
  ASSERT_TRUE(config.decoder.layers[0].feed_forward.experts.has_value());
  EXPECT_EQ(config.decoder.layers[0].feed_forward.experts->num_shared_experts, 1);
  const WeightMap map = BuildWeightMap(config.decoder);
  EXPECT_EQ(map.Find(WeightRole::kUpProj, 0, 3)->names.front(),
            "layers.0.feed_forward.experts.3.w3.weight");
  EXPECT_EQ(map.Find(WeightRole::kUpProj, 0, 4)->names.front(),
            "layers.0.feed_forward.shared_experts.w3.weight");
}

TEST(MinimindSecondTest, DerivesWhatTheSeedLeavesOut) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("minimind", Second({{"intermediate_size", nullptr}})));
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 192);
  EXPECT_EQ(decoder.layers[0].attention.head_dim, 16);
  EXPECT_EQ(decoder.layers[0].attention.qk_norm, QkNorm::kNone);
  EXPECT_TRUE(decoder.tie_word_embeddings);
}

TEST(MinimindSecondTest, AcceptsNormsThatEndInWeights) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("minimind", Second()));
  const WeightMap map = BuildWeightMap(decoder);
  EXPECT_THAT(
      map.Find(WeightRole::kFinalNorm)->names,
      ElementsAre("model.norm.weight", "model.norm.weights", "norm.weight", "norm.weights"));
}

TEST(MinimindSecondTest, RenormalizesMoreThanOneExpertOnly) {
  for (const int64_t chosen : {1, 2}) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        const DecoderDescription decoder,
        DescribeSmall("minimind", Second({{"use_moe", true},
                                          {"n_shared_experts", 2},
                                          {"norm_topk_prob", true},
                                          {"num_experts_per_tok", chosen}})));
    EXPECT_EQ(*decoder.layers[0].feed_forward.experts,
              (ExpertsDescription{.num_experts = 4,
                                  .num_experts_per_tok = chosen,
                                  .norm_topk_prob = chosen > 1,
                                  .num_shared_experts = 2}));
  }
}

TEST(MinimindSecondTest, RefusesOtherScoring) {
  EXPECT_THAT(
      SmallConfigError("minimind", Second({{"use_moe", true}, {"scoring_func", "sigmoid"}})),
      StatusIs(kUnsupported, HasSubstr("scoring_func \"sigmoid\"")));
}

TEST(MinimindThirdTest, DerivesIntermediateSizeAndHasQkNorm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("minimind", {{"hidden_size", 768}, {"intermediate_size", nullptr}}));
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 2432);  // 64 * ceil(37.699)
  EXPECT_EQ(decoder.layers[0].attention.qk_norm, QkNorm::kHead);
}

TEST(MinimindThirdTest, RenormalizesASingleExpert) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderDescription decoder,
                              DescribeSmall("minimind", {{"use_moe", true},
                                                         {"num_experts_per_tok", 1},
                                                         {"moe_intermediate_size", 96}}));
  ASSERT_TRUE(decoder.layers[0].feed_forward.experts.has_value());
  EXPECT_TRUE(decoder.layers[0].feed_forward.experts->norm_topk_prob);
  EXPECT_EQ(decoder.layers[0].feed_forward.intermediate_size, 96);
}

TEST(MinimindTest, RefusesAFileOfNoGeneration) {
  EXPECT_THAT(SmallConfigError("minimind", {{"num_experts", nullptr}}),
              StatusIs(kInvalid, HasSubstr("n_routed_experts (MiniMind2) or num_experts")));
}

TEST(MinimindTest, TellsItsYarnFormulasApart) {
  const Json first = {{"type", "yarn"}, {"factor", 4}, {"beta_fast", 4}, {"beta_slow", 1}};
  const Json later = {{"type", "yarn"}, {"factor", 16}, {"attention_factor", 1.0}};
  const Json on = {{"inference_rope_scaling", true}, {"max_position_embeddings", 32768}};
  const auto describe = [&](Json changes, const Json& scaling) {
    changes.merge_patch(on);
    changes["rope_scaling"] = scaling;
    return DescribeSmall("minimind", changes)->ropes[0].parameters;
  };
  const RopeParameters seed = describe(Second(), first);
  EXPECT_EQ(seed.rope_type, RopeType::kMinimindFirstYarn);
  EXPECT_EQ(seed.factor, 4.0);
  EXPECT_EQ(seed.beta_fast, 4.0);
  EXPECT_EQ(describe(Second(), later).rope_type, RopeType::kMinimindYarn);
  const RopeParameters third = describe(Json::object(), Json());
  EXPECT_EQ(third.rope_type, RopeType::kMinimindYarn);
  EXPECT_EQ(third.factor, 16.0);
  EXPECT_EQ(third.original_max_position_embeddings, 2048);
  EXPECT_EQ(third.attention_factor, 1.0);
}

TEST(MinimindTest, LetsTheFlagDecideOverTheDictionary) {
  const Json yarn = {{"type", "yarn"}, {"factor", 16}, {"attention_factor", 1.0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("minimind", Second({{"inference_rope_scaling", false},
                                        {"rope_scaling", yarn},
                                        {"max_position_embeddings", 32768}})));
  EXPECT_EQ(decoder.ropes[0].parameters.rope_type, RopeType::kDefault);
}

TEST(MinimindTest, DoesNotScaleWithinTheOriginalLength) {
  const Json yarn = {{"type", "yarn"}, {"factor", 16}, {"attention_factor", 1.0}};
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const DecoderDescription decoder,
      DescribeSmall("minimind", Second({{"inference_rope_scaling", true},
                                        {"rope_scaling", yarn},
                                        {"max_position_embeddings", 2048}})));
  EXPECT_EQ(decoder.ropes[0].parameters.rope_type, RopeType::kDefault);
}

TEST(MinimindTest, RefusesASecondGenerationYarnWithoutItsDictionary) {
  EXPECT_THAT(SmallConfigError("minimind", Second({{"inference_rope_scaling", true}})),
              StatusIs(kInvalid, HasSubstr("inference_rope_scaling needs rope_scaling")));
}

}  // namespace
}  // namespace phyllo
