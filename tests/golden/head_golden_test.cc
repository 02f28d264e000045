// Usage: head_golden_test FOLDER. Compares a model without LM head with its golden tensors: labels
// or embeddings, with every config file the folder has, whole prompts and in chunks. Prints one
// line per comparison, with the largest error and its bound.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/heads/label_head.h"
#include "model/heads/pooling.h"
#include "model/kv_cache/page_table.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/testing/model_runner.h"
#include "model/transformer/transformer.h"
#include "tests/golden/golden_model.h"

namespace phyllo {
namespace {

constexpr const char* kPrompts[] = {"p0", "p1", "p2"};
constexpr int64_t kChunks[] = {512, 5, 1};

std::string g_directory;

// The ids of a prompt that are not pads: those on the right are never given to the model.
std::vector<int32_t> UnmaskedIds(const GoldenModel& golden, const std::string& prompt) {
  std::vector<int32_t> ids = golden.Ids(prompt + ".input_ids");
  const std::vector<int32_t> mask = golden.Ids(prompt + ".attention_mask");
  if (!mask.empty()) ids.resize(std::count(mask.begin(), mask.end(), 1));
  return ids;
}

double StandardDeviation(absl::Span<const float> values) {
  double mean = 0, square = 0;
  for (const float value : values) mean += value / static_cast<double>(values.size());
  for (const float value : values)
    square += (value - mean) * (value - mean) / static_cast<double>(values.size());
  return std::sqrt(square);
}

class HeadGoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(g_directory + "/" + GetParam())) GTEST_SKIP() << "no such config";
    PHYLLO_ASSERT_OK_AND_ASSIGN(golden_, GoldenModel::Open(g_directory));
    PHYLLO_ASSERT_OK_AND_ASSIGN(runner_,
                                ModelRunner::Load(g_directory, {.config_file = GetParam()}));
  }

  // What tests/golden/table.py makes docs/goldens.md of.
  void TearDown() override {
    if (worst_bound_ == 0) return;
    RecordProperty("golden", g_directory);
    RecordProperty("precision", "f32");
    RecordProperty("output_error", absl::StrCat(worst_error_));
    RecordProperty("output_bound", absl::StrCat(worst_bound_));
  }

  // Compares; prints the error in units of the tolerance's reference.
  void ExpectNear(const std::string& what, absl::Span<const float> got,
                  absl::Span<const float> want, double unit, double tolerance) {
    ASSERT_EQ(got.size(), want.size()) << what;
    double error = 0;
    for (size_t i = 0; i < got.size(); ++i)
      error = std::max(error, std::abs(static_cast<double>(got[i]) - want[i]) / unit);
    std::printf("%-40s error %.2e  bound %.2e\n", what.c_str(), error, tolerance);
    EXPECT_LE(error, tolerance) << what;
    if (worst_bound_ == 0 || error / tolerance > worst_error_ / worst_bound_) {
      worst_error_ = error;
      worst_bound_ = tolerance;
    }
  }

  const DecoderDescription& description() { return runner_->transformer().description(); }

  // The vectors that `pooling` makes of a prompt computed in chunks.
  std::vector<float> Encode(const std::vector<int32_t>& ids, Pooling pooling, int64_t chunk) {
    const auto count = static_cast<int64_t>(ids.size());
    Pooler pooler(pooling, count, description().hidden_size);
    auto pages = runner_->NewSequence();
    for (int64_t begin = 0; begin < count; begin += chunk) {
      const SequenceChunk part = {.pages = &pages,
                                  .first_position = begin,
                                  .prompt_length = count,
                                  .token_ids = absl::MakeConstSpan(ids).subspan(begin, chunk)};
      PHYLLO_EXPECT_OK(runner_->Step({part}).status());
      const MatrixView<const float> states = runner_->hidden_states();
      std::vector<float> normed(states.rows * states.cols);
      const MatrixView<float> out = {normed.data(), states.rows, states.cols, states.cols};
      std::vector<int64_t> rows(states.rows);
      std::iota(rows.begin(), rows.end(), 0);
      PHYLLO_EXPECT_OK(runner_->transformer().ApplyFinalNorm(rows, states, out));
      pooler.Add(out);
    }
    return pooler.Finish();
  }

  std::unique_ptr<GoldenModel> golden_;
  std::unique_ptr<ModelRunner> runner_;

 private:
  // The error that is the largest part of its bound.
  double worst_error_ = 0;
  double worst_bound_ = 0;
};

TEST_P(HeadGoldenTest, LabelsEqualTheReference) {
  if (description().head != HeadKind::kLabels) GTEST_SKIP() << "no label head";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(g_directory));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const LabelHead head, LabelHead::Load(description(), *checkpoint));
  for (const std::string prompt : kPrompts) {
    const std::vector<float> want = golden_->Floats(prompt + ".logits");
    ASSERT_EQ(head.num_labels(), static_cast<int64_t>(want.size()));
    for (const int64_t chunk : kChunks) {
      std::vector<float> logits(want.size());
      head.Apply(Encode(UnmaskedIds(*golden_, prompt), Pooling::kLast, chunk),
                 absl::MakeSpan(logits));
      ExpectNear(absl::StrCat(prompt, ".logits, chunks of ", chunk), logits, want,
                 golden_->logits_std(), golden_->tolerance_rel());
    }
  }
}

TEST_P(HeadGoldenTest, EmbeddingsEqualTheReference) {
  if (description().head != HeadKind::kNone) GTEST_SKIP() << "not an embedding model";
  // The hidden states' own noise, ten times, as with logits; a vector of length 1 has the elements'
  // scale 1 / sqrt(d).
  const double tolerance = std::max(10 * golden_->hidden_noise_rel(), 2e-5);
  for (const std::string prompt : kPrompts) {
    const std::vector<int32_t> ids = UnmaskedIds(*golden_, prompt);
    const std::vector<float> states = golden_->Floats(prompt + ".hidden.final_norm");
    const double unit = StandardDeviation(states);
    for (const int64_t chunk : kChunks) {
      const std::string note = absl::StrCat(", chunks of ", chunk);
      ExpectNear(prompt + ".hidden.final_norm" + note, Encode(ids, Pooling::kNone, chunk), states,
                 unit, tolerance);
      std::vector<float> last = Encode(ids, Pooling::kLast, chunk);
      ExpectNear(prompt + ".embedding_last" + note, last,
                 golden_->Floats(prompt + ".embedding_last"), unit, tolerance);
      const double unit_l2 = 1 / std::sqrt(static_cast<double>(description().hidden_size));
      TruncateAndNormalize(description().hidden_size, true, last);
      ExpectNear(prompt + ".embedding_last_l2" + note, last,
                 golden_->Floats(prompt + ".embedding_last_l2"), unit_l2, tolerance);
      std::vector<float> mean = Encode(ids, Pooling::kMean, chunk);
      TruncateAndNormalize(description().hidden_size, true, mean);
      ExpectNear(prompt + ".embedding_mean_l2" + note, mean,
                 golden_->Floats(prompt + ".embedding_mean_l2"), unit_l2, tolerance);
    }
  }
}

TEST_P(HeadGoldenTest, ResultDoesNotDependOnTheChunks) {
  const std::vector<int32_t> ids = UnmaskedIds(*golden_, "p1");
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean, Pooling::kNone}) {
    const std::vector<float> whole = Encode(ids, pooling, 512);
    for (const int64_t chunk : kChunks) EXPECT_EQ(Encode(ids, pooling, chunk), whole);
  }
}

TEST_P(HeadGoldenTest, HasNoLogits) {
  std::vector<float> logits(description().vocab_size);
  const std::vector<float> row(description().hidden_size);
  EXPECT_THAT(runner_->transformer().ComputeLogits(
                  {0}, {row.data(), 1, description().hidden_size, description().hidden_size},
                  {logits.data(), 1, description().vocab_size, description().vocab_size}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

INSTANTIATE_TEST_SUITE_P(Configs, HeadGoldenTest,
                         ::testing::Values("config.json", "config_v4.json"), [](const auto& info) {
                           return info.index == 0 ? "Transformers5" : "Transformers4";
                         });

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: head_golden_test FOLDER\n");
    return 2;
  }
  phyllo::g_directory = argv[1];
  return RUN_ALL_TESTS();
}
