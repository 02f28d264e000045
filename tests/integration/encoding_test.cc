// Embeddings, classes and scores through four real processes, compared with what public reference
// implementations computed.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"
#include "services/common/status_bridge.h"
#include "tests/golden/golden_model.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using gateway::v1::ClassifyRequest;
using gateway::v1::ClassifyResponse;
using gateway::v1::EmbedRequest;
using gateway::v1::EmbedResponse;
using gateway::v1::ScoreRequest;
using gateway::v1::ScoreResponse;
using ::testing::HasSubstr;

constexpr const char* kPrompts[] = {"p0", "p1", "p2"};

// A tokenizer of small letters, which the golden models do not have: 'a' is id 5.
void WriteTokenizer(const std::string& path) {
  nlohmann::json vocab;
  for (int i = 0; i < 26; ++i) vocab[std::string(1, static_cast<char>('a' + i))] = 5 + i;
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", true}};
  const nlohmann::json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", nlohmann::json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", byte_level},
      {"post_processor", nullptr},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", nlohmann::json::array()}}}};
  std::ofstream(path) << tokenizer.dump();
}

// The services for a golden model, and what it should give.
class GoldenServices {
 public:
  explicit GoldenServices(const std::string& name) {
    const std::filesystem::path source = "tests/golden/data/models/" + name;
    folder_ = *TemporaryFolder::Create();
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(source / file, folder_->path() + "/" + file);
    WriteTokenizer(folder_->path() + "/tokenizer.json");
    auto golden = GoldenModel::Open(source.string());
    PHYLLO_EXPECT_OK(golden.status());
    golden_ = *std::move(golden);
    // Chunks of four, so that prompts take several steps.
    ServiceFlags flags;
    flags[static_cast<int>(ServiceKind::kTransformer)] = {"--max_prefill_tokens=4"};
    auto services = RunningServices::Start(flags, folder_->path());
    PHYLLO_EXPECT_OK(services.status());
    if (services.ok()) services_ = *std::move(services);
  }

  bool ok() const { return services_ != nullptr; }
  const GoldenModel& golden() const { return *golden_; }
  gateway::v1::GatewayService::Stub& stub() { return services_->stub(); }
  RunningServices& services() { return *services_; }

  // Ids of a prompt without the pads on its right.
  std::vector<int32_t> Ids(const std::string& prompt) const {
    std::vector<int32_t> ids = golden_->Ids(prompt + ".input_ids");
    const std::vector<int32_t> mask = golden_->Ids(prompt + ".attention_mask");
    if (!mask.empty()) ids.resize(std::count(mask.begin(), mask.end(), 1));
    return ids;
  }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<GoldenModel> golden_;
  std::unique_ptr<RunningServices> services_;
};

template <typename Values>
double MaxError(const Values& got, const std::vector<float>& want) {
  if (static_cast<size_t>(got.size()) != want.size()) return INFINITY;
  double error = 0;
  for (size_t i = 0; i < want.size(); ++i)
    error = std::max(error, std::abs(static_cast<double>(got[static_cast<int>(i)]) - want[i]));
  return error;
}

std::vector<float> Scores(const gateway::v1::Classification& classification) {
  std::vector<float> scores;
  for (const gateway::v1::LabelScore& score : classification.scores())
    scores.push_back(score.score());
  return scores;
}

TEST(EncodingIntegrationTest, ClassifiesAsTheReference) {
  GoldenServices model("llama-seqcls");
  ASSERT_TRUE(model.ok());
  ClassifyRequest request;
  request.set_raw_logits(true);
  for (const char* prompt : kPrompts) {
    const std::vector<int32_t> ids = model.Ids(prompt);
    request.add_token_ids()->mutable_ids()->Add(ids.begin(), ids.end());
  }
  ClassifyResponse response;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(model.stub().Classify(&context, request, &response)));
  ASSERT_EQ(response.classifications_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(MaxError(Scores(response.classifications(i)),
                       model.golden().Floats(absl::StrCat(kPrompts[i], ".logits"))),
              model.golden().logits_std() * model.golden().tolerance_rel());
  }

  ClassifyRequest text;
  text.add_texts("hello");
  ClassifyResponse probabilities;
  grpc::ClientContext text_context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(model.stub().Classify(&text_context, text, &probabilities)));
  const std::vector<float> scores = Scores(probabilities.classifications(0));
  ASSERT_EQ(scores.size(), 3u);
  EXPECT_NEAR(scores[0] + scores[1] + scores[2], 1.0, 1e-6);
  EXPECT_EQ(probabilities.classifications(0).scores(1).label(), "LABEL_1");
}

TEST(EncodingIntegrationTest, RefusesToGenerateWithAClassifier) {
  GoldenServices model("llama-regression");
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model.services().Generate(GreedyRequest({5, 6, 7}, 4)).status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no LM head")));
  ClassifyRequest request;
  const std::vector<int32_t> ids = model.Ids("p1");
  request.add_token_ids()->mutable_ids()->Add(ids.begin(), ids.end());
  ClassifyResponse response;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus(model.stub().Classify(&context, request, &response)));
  EXPECT_EQ(response.problem_type(), common::v1::PROBLEM_TYPE_REGRESSION);
  EXPECT_LE(MaxError(Scores(response.classifications(0)), model.golden().Floats("p1.logits")),
            model.golden().logits_std() * model.golden().tolerance_rel());
}

TEST(EncodingIntegrationTest, EmbedsAsTheReference) {
  GoldenServices model("qwen3-embedding");
  ASSERT_TRUE(model.ok());
  for (const auto& [pooling, tensor] :
       {std::pair(common::v1::POOLING_UNSPECIFIED, "embedding_last_l2"),
        std::pair(common::v1::POOLING_MEAN, "embedding_mean_l2")}) {
    EmbedRequest request;
    request.set_pooling(pooling);
    for (const char* prompt : kPrompts) {
      const std::vector<int32_t> ids = model.Ids(prompt);
      request.add_token_ids()->mutable_ids()->Add(ids.begin(), ids.end());
    }
    EmbedResponse response;
    grpc::ClientContext context;
    PHYLLO_ASSERT_OK(FromGrpcStatus(model.stub().Embed(&context, request, &response)));
    ASSERT_EQ(response.vectors_size(), 3);
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> want = model.golden().Floats(absl::StrCat(kPrompts[i], ".", tensor));
      EXPECT_LE(MaxError(response.vectors(i).values(), want),
                10 * model.golden().hidden_noise_rel() / std::sqrt(want.size()))
          << kPrompts[i] << "." << tensor;
    }
  }
  ClassifyRequest classify;
  classify.add_texts("hello");
  ClassifyResponse classified;
  grpc::ClientContext context;
  EXPECT_THAT(FromGrpcStatus(model.stub().Classify(&context, classify, &classified)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no label head")));
}

TEST(EncodingIntegrationTest, ScoresAsTheReference) {
  GoldenServices model("llama-gqa");
  ASSERT_TRUE(model.ok());
  // p0 is a single token, which nothing precedes.
  for (const char* prompt : {"p1", "p2"}) {
    const std::vector<float> want = model.golden().Floats(absl::StrCat(prompt, ".prompt_logprobs"));
    ScoreRequest request;
    const std::vector<int32_t> ids = model.Ids(prompt);
    request.mutable_token_ids()->mutable_ids()->Add(ids.begin(), ids.end());
    request.mutable_logprobs()->set_top_count(2);
    grpc::ClientContext context;
    const auto stream = model.stub().Score(&context, request);
    std::vector<float> got;
    double total = 0;
    gateway::v1::ScoreSummary summary;
    for (ScoreResponse message; stream->Read(&message);) {
      for (const common::v1::PositionLogprobs& position : message.logprobs()) {
        got.push_back(position.chosen().logprob());
        total += position.chosen().logprob();
        EXPECT_EQ(position.top_size(), 2);
        if (position.chosen().rank() == 1) {
          EXPECT_EQ(position.top(0).token_id(), position.chosen().token_id());
        }
      }
      if (message.has_summary()) summary = message.summary();
    }
    PHYLLO_ASSERT_OK(FromGrpcStatus(stream->Finish()));
    // A log-probability's error is at most twice the largest of a logit.
    EXPECT_LE(MaxError(got, want), 2 * model.golden().logits_std() * model.golden().tolerance_rel())
        << prompt;
    EXPECT_NEAR(summary.total_logprob(), total, 1e-6 * std::abs(total));
    EXPECT_NEAR(summary.perplexity(), std::exp(-total / static_cast<double>(want.size())),
                1e-6 * summary.perplexity());
  }
}

TEST(EncodingIntegrationTest, EmbedsBesideGenerations) {
  auto services = RunningServices::Start();
  ASSERT_TRUE(services.ok()) << services.status();
  EmbedRequest request;
  for (int i = 0; i < 40; ++i) request.add_texts(absl::StrCat("Once upon a time number ", i));
  EmbedResponse alone;
  grpc::ClientContext context;
  PHYLLO_ASSERT_OK(FromGrpcStatus((*services)->stub().Embed(&context, request, &alone)));
  ASSERT_EQ(alone.vectors_size(), 40);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const std::vector<GoldenCase> golden, ReadGoldenCases());
  Answer answer;
  std::thread generation([&] {
    answer = (*services)->Generate(
        GreedyRequest(golden[0].input_ids, static_cast<int>(golden[0].output_ids.size())));
  });
  EmbedResponse together;
  grpc::ClientContext second;
  const grpc::Status status = (*services)->stub().Embed(&second, request, &together);
  generation.join();
  PHYLLO_ASSERT_OK(FromGrpcStatus(status));
  EXPECT_EQ(answer.token_ids, golden[0].output_ids);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(together.vectors(i).SerializeAsString(), alone.vectors(i).SerializeAsString());
  }
}

}  // namespace
}  // namespace phyllo
