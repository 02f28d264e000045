// embed, classify and score against a fake gateway; nothing is a terminal.
#include "clients/cli/inputs/input_commands.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cpp/testing/fake_gateway.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using gateway::v1::ClassifyRequest;
using gateway::v1::ClassifyResponse;
using gateway::v1::EmbedRequest;
using gateway::v1::EmbedResponse;
using gateway::v1::ScoreRequest;
using gateway::v1::ScoreResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputCommandsTest : public ::testing::Test {
 protected:
  InputCommandsTest() {
    // The vector of an input is its number of bytes, or of ids, and a third.
    gateway_.on_embed = [this](const EmbedRequest& request, EmbedResponse& response) {
      embed_request_ = request;
      const auto add = [&response](int size) {
        gateway::v1::EmbeddingVector& vector = *response.add_vectors();
        vector.add_values(static_cast<float>(size));
        vector.add_values(1.0f / 3.0f);
      };
      for (const std::string& text : request.texts()) {
        if (text == "fail") return ToGrpcStatus(InvalidField("texts[0]", "it failed"));
        add(static_cast<int>(text.size()));
      }
      for (const gateway::v1::TokenIds& ids : request.token_ids()) add(ids.ids_size());
      return grpc::Status::OK;
    };
    gateway_.on_classify = [](const ClassifyRequest& request, ClassifyResponse& response) {
      for (int i = 0; i < request.texts_size(); ++i) {
        gateway::v1::Classification& classification = *response.add_classifications();
        for (const auto& [label, score] : {std::pair("bad", 0.25f), std::pair("good", 0.75f)}) {
          gateway::v1::LabelScore& entry = *classification.add_scores();
          entry.set_label(label);
          entry.set_score(score);
        }
      }
      return grpc::Status::OK;
    };
    gateway_.on_score = [this](const ScoreRequest& request,
                               grpc::ServerWriter<ScoreResponse>& writer) {
      score_request_ = request;
      ScoreResponse message;
      common::v1::TokenLogprob& chosen = *message.add_logprobs()->mutable_chosen();
      chosen.set_token_id(5);
      chosen.set_token(" \n");
      chosen.set_logprob(-0.5f);
      chosen.set_rank(2);
      writer.Write(message);
      ScoreResponse last;
      last.mutable_summary()->set_total_logprob(-0.5);
      last.mutable_summary()->set_perplexity(1.648721);
      writer.Write(last);
      return grpc::Status::OK;
    };
  }

  template <typename Options>
  Options With(const std::vector<std::string>& texts) {
    Options options;
    options.target.address = gateway_.address();
    options.input.texts = texts;
    return options;
  }

  int Embed(const EmbedOptions& options) { return EmbedCommand(options, terminal_, interrupts_); }

  Interrupts interrupts_;
  FakeGateway gateway_;
  std::stringstream in_, out_, err_;
  Terminal terminal_ = {in_, out_, err_};
  EmbedRequest embed_request_;
  ScoreRequest score_request_;
};

TEST_F(InputCommandsTest, EmbedWritesAVectorALine) {
  EXPECT_EQ(Embed(With<EmbedOptions>({"ab", "c"})), kExitOk);
  EXPECT_EQ(out_.str(), "2 0.333333343\n1 0.333333343\n");
}

TEST_F(InputCommandsTest, EmbedReadsStandardInput) {
  in_ << "line one\nline two";
  EXPECT_EQ(Embed(With<EmbedOptions>({"-"})), kExitOk);
  EXPECT_THAT(embed_request_.texts(), ElementsAre("line one\nline two"));
}

TEST_F(InputCommandsTest, EmbedReadsTheLinesOfAFile) {
  const std::string path = ::testing::TempDir() + "/lines";
  std::ofstream(path) << "one\n\n two \n";
  EmbedOptions options = With<EmbedOptions>({});
  options.input.file = path;
  options.input.lines = true;
  EXPECT_EQ(Embed(options), kExitOk);
  EXPECT_THAT(embed_request_.texts(), ElementsAre("one", " two "));
}

TEST_F(InputCommandsTest, EmbedReadsAFileWhole) {
  const std::string path = ::testing::TempDir() + "/whole";
  std::ofstream(path) << "one\n\ntwo\n";
  EmbedOptions options = With<EmbedOptions>({});
  options.input.file = path;
  EXPECT_EQ(Embed(options), kExitOk);
  EXPECT_THAT(embed_request_.texts(), ElementsAre("one\n\ntwo\n"));
}

TEST_F(InputCommandsTest, EmbedNamesAFileThatIsNotThere) {
  EmbedOptions options = With<EmbedOptions>({});
  options.input.file = "/nowhere/file";
  EXPECT_EQ(Embed(options), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("/nowhere/file"));
}

TEST_F(InputCommandsTest, EmbedSendsIds) {
  EmbedOptions options = With<EmbedOptions>({});
  options.input.ids = {4, 5, 6};
  EXPECT_EQ(Embed(options), kExitOk);
  EXPECT_THAT(embed_request_.token_ids(0).ids(), ElementsAre(4, 5, 6));
  EXPECT_EQ(out_.str(), "3 0.333333343\n");
}

TEST_F(InputCommandsTest, EmbedWritesTheResponseAsJson) {
  EmbedOptions options = With<EmbedOptions>({"ab"});
  options.input.json = true;
  EXPECT_EQ(Embed(options), kExitOk);
  const auto json = nlohmann::ordered_json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(json["vectors"][0]["values"][0], 2);
}

TEST_F(InputCommandsTest, EmbedAnswersJsonLinesInOrder) {
  in_ << "{\"texts\": [\"a\"]}\n{\"texts\": [\"fail\"]}\n\nnonsense\n{\"texts\": [\"abc\"]}\n";
  EmbedOptions options = With<EmbedOptions>({});
  options.input.json_lines = true;
  EXPECT_EQ(Embed(options), kExitError);
  std::vector<nlohmann::ordered_json> lines;
  for (std::string line; std::getline(out_, line);)
    lines.push_back(nlohmann::ordered_json::parse(line, nullptr, false));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["vectors"][0]["values"][0], 1);
  EXPECT_EQ(lines[1]["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(std::string(lines[2]["error"]["message"]), HasSubstr("line 4"));
  EXPECT_EQ(lines[3]["vectors"][0]["values"][0], 3);
}

TEST_F(InputCommandsTest, EmbedReportsTheServersError) {
  EXPECT_EQ(Embed(With<EmbedOptions>({"fail"})), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("texts[0]: it failed"));
}

TEST_F(InputCommandsTest, ClassifyWritesTheLikeliestLabelFirst) {
  EXPECT_EQ(ClassifyCommand(With<ClassifyOptions>({"x", "y"}), terminal_, interrupts_), kExitOk);
  EXPECT_EQ(out_.str(), "good\t0.75\nbad\t0.25\n\ngood\t0.75\nbad\t0.25\n");
}

TEST_F(InputCommandsTest, ScoreWritesTokensAndTheSum) {
  EXPECT_EQ(ScoreCommand(With<ScoreOptions>({"x"}), terminal_, interrupts_), kExitOk);
  EXPECT_EQ(score_request_.text(), "x");
  EXPECT_EQ(out_.str(),
            "-0.5000\t2\t \\n\ntokens 1, total log-probability -0.5000, perplexity 1.64872\n");
}

TEST_F(InputCommandsTest, ScoreWritesTheSummaryOnly) {
  ScoreOptions options = With<ScoreOptions>({"x"});
  options.summary = true;
  EXPECT_EQ(ScoreCommand(options, terminal_, interrupts_), kExitOk);
  EXPECT_EQ(out_.str(), "tokens 1, total log-probability -0.5000, perplexity 1.64872\n");
}

}  // namespace
}  // namespace phyllo
