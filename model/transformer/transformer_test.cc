#include "model/transformer/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/ops/attention.h"
#include "model/parallel/thread_pool.h"
#include "model/sampling/logits_row.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/step_slice.h"
#include "model/transformer/testing/model_runner.h"
#include "model/transformer/testing/reference_transformer.h"
#include "model/transformer/testing/toy_models.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

std::vector<int32_t> RandomIds(int64_t count, int64_t vocab_size) {
  std::mt19937 random(3);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(random() % vocab_size));
  return ids;
}

absl::StatusOr<std::unique_ptr<ModelRunner>> LoadToy(const ToyModel& model,
                                                     Precision precision = Precision::kF32) {
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ToyConfig(model));
  PHYLLO_ASSIGN_OR_RETURN(const std::string directory, WriteToyModel(model));
  return ModelRunner::Load(
      config, directory,
      {.precision = ModelPrecision::Of(precision), .page_size = 16, .kv_page_count = 32});
}

constexpr Precision kPrecisions[] = {Precision::kF32, Precision::kBf16, Precision::kInt8,
                                     Precision::kInt4};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ReferenceTest : public testing::TestWithParam<ToyModel> {
 protected:
  // How far the logits are from the reference's, in root mean squares of those.
  struct Error {
    double largest = INFINITY;
    double root_mean_square = INFINITY;
    double median_row = INFINITY;  // the root mean square of the median position
    bool has_experts = false;
  };

  // Of the logits of n random tokens.
  Error RelativeError(Precision precision, int64_t n) {
    const auto error = ComputeError(precision, n);
    EXPECT_THAT(error, IsOk());
    return error.ok() ? *error : Error();
  }

 private:
  static bool HasExperts(const DecoderDescription& description) {
    return std::any_of(
        description.layers.begin(), description.layers.end(),
        [](const LayerDescription& layer) { return layer.feed_forward.experts.has_value(); });
  }

  // The median over the n rows of their root mean square errors.
  static double MedianRow(const std::vector<float>& got, const std::vector<double>& want,
                          int64_t n) {
    const size_t cols = got.size() / n;
    std::vector<double> rows(n);
    for (size_t i = 0; i < got.size(); ++i)
      rows[i / cols] += (got[i] - want[i]) * (got[i] - want[i]) / static_cast<double>(cols);
    std::sort(rows.begin(), rows.end());
    return std::sqrt(rows[n / 2]);
  }

  static absl::StatusOr<Error> ComputeError(Precision precision, int64_t n) {
    PHYLLO_ASSIGN_OR_RETURN(const auto runner, LoadToy(GetParam(), precision));
    PHYLLO_ASSIGN_OR_RETURN(const std::string directory, WriteToyModel(GetParam()));
    PHYLLO_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::Open(directory));
    const std::vector<int32_t> ids = RandomIds(n, runner->vocab_size());
    PHYLLO_ASSIGN_OR_RETURN(
        const std::vector<double> want,
        ComputeReferenceLogits(runner->transformer().description(), *checkpoint, ids));
    SequencePages pages = runner->NewSequence();
    PHYLLO_ASSIGN_OR_RETURN(const std::vector<float> got,
                            runner->Prefill(pages, ids, /*chunk=*/24));
    if (got.size() != want.size()) return absl::InternalError("wrong number of logits");
    double largest = 0, error_square = 0, square = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double error = std::abs(got[i] - want[i]);
      if (std::isnan(error)) return Error();
      largest = std::max(largest, error);
      error_square += error * error;
      square += want[i] * want[i];
    }
    const double unit = std::sqrt(square / static_cast<double>(want.size()));
    return Error{.largest = largest / unit,
                 .root_mean_square = std::sqrt(error_square / square),
                 .median_row = MedianRow(got, want, n) / unit,
                 .has_experts = HasExperts(runner->transformer().description())};
  }
};

// f32 sums of up to 36 terms over 2 layers: a few roundings of 6e-8 each. Builds for a sanitizer
// fuse other multiplications and additions: of their elements the worst is 1.4e-5.
constexpr double kF32Tolerance = 2e-5;
// Operands are rounded to 2^-9 on average, eight products deep and in attention's own two, whose
// rounding of scores the exponential turns into a relative error. The worst element of so few units
// is not bounded usefully.
constexpr double kBf16Tolerance = 0.025;
// Inputs and weights of int8 are rounded to 1/254 of the largest of their row, weights of int4 to
// about 1/16 of it. Over two layers of random weights with 12 inputs each little averages out:
// these bound what the toy models lose, real models lose far less.
constexpr double kInt8Tolerance = 0.06;
constexpr double kInt4Tolerance = 0.6;

TEST_P(ReferenceTest, MatchesInF32WhenThePromptIsLongerThanAPage) {
  EXPECT_LE(RelativeError(Precision::kF32, 83).largest, kF32Tolerance);
}

TEST_P(ReferenceTest, MatchesInF32WhenThePromptIsOneToken) {
  EXPECT_LE(RelativeError(Precision::kF32, 1).largest, kF32Tolerance);
}

TEST_P(ReferenceTest, MatchesInBf16) {
  // With experts the median position: where two are nearly as probable, rounding chooses another.
  const Error error = RelativeError(Precision::kBf16, 83);
  EXPECT_LE(error.has_experts ? error.median_row : error.root_mean_square, kBf16Tolerance);
}

TEST_P(ReferenceTest, MatchesInInt8) {
  const Error error = RelativeError(Precision::kInt8, 83);
  EXPECT_LE(error.has_experts ? error.median_row : error.root_mean_square, kInt8Tolerance);
}

TEST_P(ReferenceTest, MatchesInInt4) {
  const Error error = RelativeError(Precision::kInt4, 83);
  EXPECT_LE(error.has_experts ? error.median_row : error.root_mean_square, kInt4Tolerance);
}

TEST_P(ReferenceTest, GivesTheSameBitsInAnyChunks) {
  for (const Precision precision : kPrecisions) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(GetParam(), precision));
    const std::vector<int32_t> ids = RandomIds(83, runner->vocab_size());
    std::vector<float> want;
    for (const int64_t chunk : {83, 24, 1}) {
      auto pages = runner->NewSequence();
      PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> got, runner->Prefill(pages, ids, chunk));
      if (want.empty()) want = got;
      EXPECT_TRUE(SameBits(got, want)) << PrecisionName(precision) << ", chunks of " << chunk;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ToyModels, ReferenceTest, testing::ValuesIn(ToyModels()),
                         [](const testing::TestParamInfo<ToyModel>& info) {
                           return info.param.name;
                         });

TEST(TransformerTest, RotatesForTheLengthOfThePromptWhenRopeIsDynamic) {
  // 96 positions are the model's own; the reference rotates all of a prompt for its length, as the
  // chunks must.
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(FindToyModel("LlamaDynamic")));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string directory,
                              WriteToyModel(FindToyModel("LlamaDynamic")));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(directory));
  const std::vector<int32_t> ids = RandomIds(150, runner->vocab_size());
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const std::vector<double> want,
      ComputeReferenceLogits(runner->transformer().description(), *checkpoint, ids));
  SequencePages pages = runner->NewSequence();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> got,
                              runner->Prefill(pages, ids, /*chunk=*/32));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
}

TEST(TransformerTest, SharesOnlyKeysThatEveryPromptHasWhenRopeIsDynamic) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto dynamic, LoadToy(FindToyModel("LlamaDynamic")));
  EXPECT_EQ(dynamic->transformer().ReusablePositions(/*prompt_length=*/96), 96);
  EXPECT_EQ(dynamic->transformer().ReusablePositions(/*prompt_length=*/97), 0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto plain, LoadToy(FindToyModel("LlamaGqa")));
  EXPECT_EQ(plain->transformer().ReusablePositions(/*prompt_length=*/50), 96);
}

TEST(TransformerTest, IgnoresWhatPagesHeldBefore) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(FindToyModel("Qwen3")));
  const std::vector<int32_t> ids = RandomIds(21, runner->vocab_size());
  SequencePages clean = runner->NewSequence();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> want, runner->Prefill(clean, ids, 5));
  KvCache& cache = runner->transformer().kv_cache();
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int32_t page = 0; page < cache.page_groups()[0].allocator->page_count(); ++page) {
      std::memset(cache.layer(layer).Page(page), 0xff,
                  cache.layout().page_bytes());  // every element NaN
    }
  }
  SequencePages dirty = runner->NewSequence();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> got, runner->Prefill(dirty, ids, 5));
  EXPECT_TRUE(SameBits(got, want));
}

class LargestLogitTest : public testing::TestWithParam<Precision> {};

TEST_P(LargestLogitTest, IsThatOfTheLogitsAndLeavesThemAsTheyAre) {
  for (const ToyModel& model : ToyModels()) {
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(model, GetParam()));
    const int64_t v = runner->vocab_size();
    SequencePages pages = runner->NewSequence();
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<float> all,
                                runner->Prefill(pages, RandomIds(6, v), /*chunk=*/6));
    if (all.empty()) continue;  // no LM head
    const auto row = [&](int64_t i) { return absl::MakeConstSpan(all).subspan(i * v, v); };
    const std::vector<int64_t> rows = {5, 0, 3, 0, 2};
    std::vector<LargestLogit> largest(3);
    std::vector<float> logits(2 * v);
    PHYLLO_ASSERT_OK(runner->transformer().ComputeLogits(
        rows, runner->hidden_states(), absl::MakeSpan(largest), {logits.data(), 2, v, v}));
    for (size_t i = 0; i < largest.size(); ++i) {
      EXPECT_TRUE(largest[i].finite);
      EXPECT_EQ(largest[i].token_id, ArgmaxOf(row(rows[i]))) << model.name;
      EXPECT_EQ(largest[i].logit, row(rows[i])[largest[i].token_id]) << model.name;
    }
    EXPECT_EQ(absl::MakeConstSpan(logits).first(v), row(0)) << model.name;
    EXPECT_EQ(absl::MakeConstSpan(logits).last(v), row(2)) << model.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, LargestLogitTest, testing::ValuesIn(kPrecisions),
                         [](const auto& info) { return PrecisionName(info.param); });

class NonFiniteTest : public testing::TestWithParam<Precision> {};

TEST_P(NonFiniteTest, StaysInItsOwnSequence) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(FindToyModel("LlamaGqa"), GetParam()));
  Transformer& transformer = runner->transformer();
  const int64_t d = transformer.description().hidden_size;
  const int64_t v = transformer.description().vocab_size;
  const auto run = [&](float first_value) {
    SequencePages first = runner->NewSequence();
    SequencePages second = runner->NewSequence();
    EXPECT_THAT(first.Resize(1), IsOk());
    EXPECT_THAT(second.Resize(1), IsOk());
    std::vector<float> hidden(2 * d, 0.5f);
    hidden[0] = first_value;
    EXPECT_THAT(transformer.Forward(
                    {{.row_begin = 0, .row_count = 1, .prompt_length = 1, .pages = &first},
                     {.row_begin = 1, .row_count = 1, .prompt_length = 1, .pages = &second}},
                    {hidden.data(), 2, d, d}),
                IsOk());
    std::vector<float> logits(2 * v);
    EXPECT_THAT(
        transformer.ComputeLogits({0, 1}, {hidden.data(), 2, d, d}, {logits.data(), 2, v, v}),
        IsOk());
    EXPECT_EQ(std::any_of(logits.begin(), logits.begin() + v,
                          [](float logit) { return !std::isfinite(logit); }),
              !std::isfinite(first_value));
    std::vector<LargestLogit> largest(2);
    EXPECT_THAT(transformer.ComputeLogits({0, 1}, {hidden.data(), 2, d, d}, absl::MakeSpan(largest),
                                          {nullptr, 0, 0, 0}),
                IsOk());
    EXPECT_EQ(largest[0].finite, std::isfinite(first_value));
    EXPECT_TRUE(largest[1].finite);
    return std::vector<float>(logits.begin() + v, logits.end());
  };
  const std::vector<float> want = run(1.0f);
  EXPECT_TRUE(SameBits(run(NAN), want));
  EXPECT_TRUE(SameBits(run(INFINITY), want));
}

INSTANTIATE_TEST_SUITE_P(Precisions, NonFiniteTest, testing::ValuesIn(kPrecisions),
                         [](const auto& info) { return PrecisionName(info.param); });

TEST(TransformerTest, GivesTheSameBitsWhenTheLayersAreSplit) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto runner, LoadToy(FindToyModel("Qwen3")));
  const std::vector<int32_t> ids = RandomIds(9, runner->vocab_size());
  SequencePages pages = runner->NewSequence();
  PHYLLO_ASSERT_OK(runner->Prefill(pages, ids, 9));
  const MatrixView<const float> want = runner->hidden_states();
  const MatrixView<const float> embeddings = runner->embeddings();
  std::vector<float> hidden(embeddings.data, embeddings.data + embeddings.rows * embeddings.cols);

  const ToyModel model = FindToyModel("Qwen3");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string directory, WriteToyModel(model));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(directory));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(model.config));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto pool, ThreadPool::Create({}));
  for (const auto& [first_layer, last_layer] : {std::pair(0, 1), std::pair(1, 2)}) {
    TransformerOptions options;
    options.first_layer = first_layer;
    options.last_layer = last_layer;
    PHYLLO_ASSERT_OK_AND_ASSIGN(const auto part,
                                Transformer::Load(config, *checkpoint, *pool, options));
    SequencePages part_pages(part->kv_cache().page_groups(), options.page_size);
    PHYLLO_ASSERT_OK(part_pages.Resize(9));
    PHYLLO_ASSERT_OK(
        part->Forward({{.row_begin = 0, .row_count = 9, .prompt_length = 9, .pages = &part_pages}},
                      {hidden.data(), 9, want.cols, want.cols}));
  }
  EXPECT_TRUE(SameBits(hidden, std::vector<float>(want.data, want.data + want.rows * want.cols)));
}

TEST(TransformerTest, ReportsTheLoadUpToItsEnd) {
  const ToyModel model = FindToyModel("LlamaMhaTied");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string directory, WriteToyModel(model));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto checkpoint, Checkpoint::Open(directory));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ModelConfig config, ParseModelConfig(model.config));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto pool, ThreadPool::Create({}));
  std::vector<int64_t> done;
  TransformerOptions options;
  options.progress = [&](int64_t done_bytes, int64_t total_bytes) {
    EXPECT_EQ(total_bytes, checkpoint->total_bytes());
    done.push_back(done_bytes);
  };
  PHYLLO_ASSERT_OK(Transformer::Load(config, *checkpoint, *pool, options));
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), checkpoint->total_bytes());
}

class TransformerErrorTest : public testing::Test {
 protected:
  void SetUp() override {
    const ToyModel model = FindToyModel("LlamaGqa");
    PHYLLO_ASSERT_OK_AND_ASSIGN(const std::string directory, WriteToyModel(model));
    PHYLLO_ASSERT_OK_AND_ASSIGN(checkpoint_, Checkpoint::Open(directory));
    PHYLLO_ASSERT_OK_AND_ASSIGN(config_, ParseModelConfig(model.config));
    PHYLLO_ASSERT_OK_AND_ASSIGN(pool_, ThreadPool::Create({}));
    options_ = {.max_rows = 8, .max_logits_rows = 2, .kv_page_count = 4, .progress = nullptr};
    PHYLLO_ASSERT_OK_AND_ASSIGN(transformer_, Load());
    pages_ =
        std::make_unique<SequencePages>(transformer_->kv_cache().page_groups(), options_.page_size);
    PHYLLO_ASSERT_OK(pages_->Resize(128));
  }

  absl::StatusOr<std::unique_ptr<Transformer>> Load() {
    return Transformer::Load(config_, *checkpoint_, *pool_, options_);
  }

  // Expects Forward of `rows` rows to be refused and to leave them as they were.
  void ExpectRefused(absl::Span<const StepSlice> slices, int64_t rows, const std::string& message) {
    std::vector<float> hidden(rows * 12, 0.25f);
    EXPECT_THAT(transformer_->Forward(slices, {hidden.data(), rows, 12, 12}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_EQ(hidden, std::vector<float>(rows * 12, 0.25f));
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  ModelConfig config_;
  std::unique_ptr<ThreadPool> pool_;
  TransformerOptions options_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<SequencePages> pages_;
};

TEST_F(TransformerErrorTest, RefusesMoreRowsThanItWasMadeFor) {
  ExpectRefused({{.row_count = 9, .prompt_length = 9, .pages = pages_.get()}}, 9,
                "9 rows, must be in [1, 8]");
}

TEST_F(TransformerErrorTest, RefusesSlicesThatDoNotCoverTheRows) {
  ExpectRefused({{.row_count = 2, .prompt_length = 2, .pages = pages_.get()}}, 3,
                "cover 2 rows, hidden_states has 3");
  ExpectRefused({{.row_begin = 1, .row_count = 2, .prompt_length = 2, .pages = pages_.get()}}, 3,
                "begin at row 0");
  ExpectRefused({{.row_count = 0, .prompt_length = 2, .pages = pages_.get()}}, 1, "at least one");
}

TEST_F(TransformerErrorTest, RefusesPositionsBeyondTheModel) {
  ExpectRefused(
      {{.row_count = 1, .first_position = 96, .prompt_length = 97, .pages = pages_.get()}}, 1,
      "position 96 is beyond the model's last one, 95");
  ExpectRefused({{.row_count = 1, .first_position = -1, .prompt_length = 1, .pages = pages_.get()}},
                1, "-1");
}

TEST_F(TransformerErrorTest, RefusesAPromptWithoutLength) {
  ExpectRefused({{.row_count = 1, .prompt_length = 0, .pages = pages_.get()}}, 1,
                "prompt_length 0");
}

TEST_F(TransformerErrorTest, RefusesAPageTableWithoutRoom) {
  SequencePages small(transformer_->kv_cache().page_groups(), options_.page_size);
  ExpectRefused({{.row_count = 1, .prompt_length = 1, .pages = &small}}, 1, "room for 0 tokens");
  ExpectRefused({{.row_count = 1, .prompt_length = 1, .pages = nullptr}}, 1, "room for 0 tokens");
}

TEST_F(TransformerErrorTest, RefusesLogitsOfRowsThatAreNotThere) {
  std::vector<float> hidden(3 * 12), logits(3 * 29);
  EXPECT_THAT(
      transformer_->ComputeLogits({3}, {hidden.data(), 3, 12, 12}, {logits.data(), 1, 29, 29}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 3 must be in [0, 3)")));
  EXPECT_THAT(transformer_->ComputeLogits({0, 1, 2}, {hidden.data(), 3, 12, 12},
                                          {logits.data(), 3, 29, 29}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 rows, must be in [1, 2]")));
  EXPECT_THAT(
      transformer_->ComputeLogits({0}, {hidden.data(), 3, 12, 12}, {logits.data(), 1, 28, 29}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[1, 29]")));
  std::vector<LargestLogit> largest(1);
  EXPECT_THAT(transformer_->ComputeLogits({0, 1}, {hidden.data(), 3, 12, 12},
                                          absl::MakeSpan(largest), {logits.data(), 2, 29, 29}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("must be [1, 29]")));
}

TEST_F(TransformerErrorTest, HasNoLogitsWithoutTheLastLayer) {
  options_.last_layer = 1;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto part, Load());
  std::vector<float> hidden(12), logits(29);
  EXPECT_THAT(part->ComputeLogits({0}, {hidden.data(), 1, 12, 12}, {logits.data(), 1, 29, 29}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("last layer")));
}

TEST_F(TransformerErrorTest, NamesTheOptionThatIsOutOfRange) {
  options_.max_rows = 0;
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_rows is 0")));
  options_.max_rows = 8;
  options_.last_layer = 3;
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("last_layer is 3")));
  options_.last_layer = 2;
  options_.first_layer = 2;
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first_layer is 2")));
  options_.first_layer = 0;
  options_.page_size = 24;
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_size")));
}

TEST_F(TransformerErrorTest, NamesTheTensorWhenTheCheckpointDoesNotFit) {
  config_.decoder.layers[0].feed_forward.intermediate_size = 21;
  EXPECT_THAT(Load(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mlp.gate_proj")));
}

}  // namespace
}  // namespace phyllo
