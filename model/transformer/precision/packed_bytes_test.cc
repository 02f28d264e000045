#include "model/transformer/precision/packed_bytes.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/model_config.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/decoder_weights.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/toy_models.h"

namespace phyllo {
namespace {

class PackedWeightBytesTest : public ::testing::TestWithParam<ToyModel> {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(config_, ToyConfig(GetParam()));
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string folder, WriteToyModel(GetParam()));
    PHYLLO_ASSERT_OK_AND_ASSIGN(checkpoint_, Checkpoint::Open(folder));
    PHYLLO_ASSERT_OK_AND_ASSIGN(pool_, ThreadPool::Create({.num_threads = 1}));
  }

  void ExpectBytesOfLoadedWeights(const ModelPrecision& precision) {
    const DecoderDescription& description = config_.decoder;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const DecoderWeights weights,
                                DecoderWeights::Load(description, *checkpoint_,
                                                     {.precision = precision,
                                                      .last_layer = description.num_hidden_layers(),
                                                      .progress = nullptr},
                                                     *pool_));
    EXPECT_EQ(PackedWeightBytes(description, precision), weights.arena.bytes())
        << precision.ToString();
  }

  ModelConfig config_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<ThreadPool> pool_;
};

TEST_P(PackedWeightBytesTest, AreThoseOfTheLoadedWeights) {
  for (const Precision precision :
       {Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kInt4})
    ExpectBytesOfLoadedWeights(ModelPrecision::Of(precision));
}

TEST_P(PackedWeightBytesTest, CountEachModuleInItsPrecision) {
  ExpectBytesOfLoadedWeights({.attention = Precision::kBf16,
                              .feed_forward = Precision::kInt4,
                              .lm_head = Precision::kInt8,
                              .kv_cache = Precision::kF32});
}

INSTANTIATE_TEST_SUITE_P(Toys, PackedWeightBytesTest, ::testing::ValuesIn(ToyModelsOfEveryWeight()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace phyllo
