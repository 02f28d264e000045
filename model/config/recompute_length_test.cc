#include "model/config/recompute_length.h"

#include <optional>

#include "gtest/gtest.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/rope_parameters.h"

namespace phyllo {
namespace {

ModelConfig WithRope(const char* model_type, RopeType rope_type) {
  ModelConfig config;
  config.model_type = model_type;
  RopeDescription rope;
  rope.parameters.rope_type = rope_type;
  rope.parameters.original_max_position_embeddings = 64;
  config.decoder.ropes.push_back(rope);
  return config;
}

TEST(RecomputeLengthTest, IsOneMoreThanTheOriginalLengthForPhi3WithLongrope) {
  EXPECT_EQ(RecomputeLength(WithRope("phi3", RopeType::kLongrope)), 65);
}

TEST(RecomputeLengthTest, IsAbsentWhereTheReferenceKeepsItsCache) {
  EXPECT_EQ(RecomputeLength(WithRope("phi3", RopeType::kDefault)), std::nullopt);
  EXPECT_EQ(RecomputeLength(WithRope("llama", RopeType::kLongrope)), std::nullopt);
  EXPECT_EQ(RecomputeLength(WithRope("llama", RopeType::kDynamic)), std::nullopt);
  EXPECT_EQ(RecomputeLength(ModelConfig()), std::nullopt);
}

}  // namespace
}  // namespace phyllo
