#include "model/transformer/precision/model_precision.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

constexpr Precision kAll[] = {Precision::kF32, Precision::kBf16, Precision::kInt8,
                              Precision::kInt4};

// A checkpoint of one matrix of the type, and a vector of floats.
std::unique_ptr<Checkpoint> MakeCheckpoint(const std::string& dtype, int bytes) {
  const std::string directory = testing::TempDir() + "/precision_" + dtype;
  std::filesystem::create_directories(directory);
  const int matrix = 4 * bytes;
  std::string header = "{\"matrix\":{\"dtype\":\"" + dtype +
                       "\",\"shape\":[2,2],\"data_offsets\":[0," + std::to_string(matrix) +
                       "]},\"vector\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" +
                       std::to_string(matrix) + "," + std::to_string(matrix + 4) + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t size = header.size();
  std::ofstream file(directory + "/model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&size), sizeof(size));
  file << header << std::string(matrix + 4, '\0');
  file.close();
  auto checkpoint = Checkpoint::Open(directory);
  EXPECT_THAT(checkpoint, IsOk());
  return checkpoint.ok() ? *std::move(checkpoint) : nullptr;
}

std::string Resolved(const std::string& text) {
  const auto choice = ParsePrecisionChoice(text);
  EXPECT_THAT(choice, IsOk());
  return choice.ok() ? choice->Resolve(Precision::kF32).ToString() : "";
}

TEST(ModelPrecisionTest, NamesOnePrecisionForAllModules) {
  for (const Precision base : kAll)
    EXPECT_EQ(ModelPrecision::Of(base).ToString(), PrecisionName(base));
}

TEST(ModelPrecisionTest, KeepsKeysInBf16AndTheHeadOfInt4InInt8) {
  const ModelPrecision int4 = ModelPrecision::Of(Precision::kInt4);
  EXPECT_EQ(int4.kv_cache, Precision::kBf16);
  EXPECT_EQ(int4.lm_head, Precision::kInt8);
  EXPECT_EQ(ModelPrecision::Of(Precision::kF32).kv_cache, Precision::kF32);
}

TEST(ModelPrecisionTest, ReadsItsOwnTextBack) {
  for (const Precision attention : kAll) {
    for (const Precision feed_forward : kAll) {
      for (const Precision lm_head : kAll) {
        for (const Precision kv_cache : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
          const ModelPrecision precision = {attention, feed_forward, lm_head, kv_cache};
          EXPECT_EQ(Resolved(precision.ToString()), precision.ToString());
        }
      }
    }
  }
}

TEST(ModelPrecisionTest, TakesModulesApart) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const PrecisionChoice choice,
      ParsePrecisionChoice("int8,lm_head=bf16,attention=f32,kv_cache=int8,feed_forward=int4"));
  const ModelPrecision precision = choice.Resolve(Precision::kF32);
  EXPECT_EQ(precision.attention, Precision::kF32);
  EXPECT_EQ(precision.feed_forward, Precision::kInt4);
  EXPECT_EQ(precision.lm_head, Precision::kBf16);
  EXPECT_EQ(precision.kv_cache, Precision::kInt8);
}

TEST(ModelPrecisionTest, GivesEqualPrecisionsOneText) {
  EXPECT_EQ(Resolved("int8,kv_cache=bf16"), "int8");
  EXPECT_EQ(Resolved("bf16,feed_forward=int8"), "int8,attention=bf16,lm_head=bf16");
  EXPECT_EQ(Resolved("int8,kv_cache=int8,attention=bf16"), "int8,attention=bf16,kv_cache=int8");
}

TEST(ModelPrecisionTest, FollowsTheCheckpointWhenAuto) {
  EXPECT_EQ(AutomaticPrecision(*MakeCheckpoint("BF16", 2)), Precision::kBf16);
  EXPECT_EQ(AutomaticPrecision(*MakeCheckpoint("F16", 2)), Precision::kBf16);
  EXPECT_EQ(AutomaticPrecision(*MakeCheckpoint("F32", 4)), Precision::kF32);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const PrecisionChoice choice,
                              ParsePrecisionChoice("auto,kv_cache=int8"));
  EXPECT_EQ(choice.Resolve(Precision::kBf16).ToString(), "bf16,kv_cache=int8");
}

TEST(ModelPrecisionTest, SaysWhatIsWrongAndWhatMayStandThere) {
  const auto expect_error = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(ParsePrecisionChoice(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
        << text;
  };
  expect_error("int9", "precision \"int9\" must be auto, f32, bf16, int8 or int4");
  expect_error("", "precision \"\" must be");
  expect_error("kv_cache=int8", "precision \"kv_cache=int8\" must be auto");
  expect_error("int8,head=bf16",
               "precision of \"head\": the module must be attention, feed_forward, lm_head or "
               "kv_cache");
  expect_error("int8,", "precision of \"\"");
  expect_error("int8,lm_head", "precision of lm_head \"\" must be f32, bf16, int8 or int4");
  expect_error("int8,lm_head=auto", "precision of lm_head \"auto\" must be f32");
  expect_error("int8,kv_cache=int4", "precision of kv_cache \"int4\" must be f32, bf16 or int8");
  expect_error("int8,lm_head=f32,lm_head=f32", "precision of lm_head said twice");
}

}  // namespace
}  // namespace phyllo
