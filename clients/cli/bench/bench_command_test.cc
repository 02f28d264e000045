#include "clients/cli/bench/bench_command.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "clients/cli/command_line.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cpp/testing/fake_gateway.h"
#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<BenchOptions> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  absl::StatusOr<CommandLine> parsed = ParseCommandLine(arguments, {});
  if (!parsed.ok()) return parsed.status();
  return std::get<BenchOptions>(*parsed);
}

TEST(BenchOptionsTest, ReadsALoad) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const BenchOptions options, Parse({"--address",
                                                                 "host:1",
                                                                 "--concurrency",
                                                                 "8",
                                                                 "--num-requests",
                                                                 "20",
                                                                 "--duration",
                                                                 "10s",
                                                                 "--prompt-tokens",
                                                                 "uniform:10,20",
                                                                 "--output-tokens",
                                                                 "7",
                                                                 "--turns",
                                                                 "3",
                                                                 "--shared-prefix-tokens",
                                                                 "50",
                                                                 "--timeout",
                                                                 "5s",
                                                                 "--load-seed",
                                                                 "9",
                                                                 "--top-k",
                                                                 "40",
                                                                 "--no-prefix-cache",
                                                                 "--json"}));
  EXPECT_TRUE(options.serving);
  EXPECT_EQ(options.target.address, "host:1");
  EXPECT_EQ(options.load.concurrency, 8);
  EXPECT_EQ(options.load.num_requests, 20);
  EXPECT_EQ(options.load.duration, absl::Seconds(10));
  EXPECT_EQ(options.load.prompt_tokens.max(), 20);
  EXPECT_EQ(options.load.output_tokens.max(), 7);
  EXPECT_EQ(options.load.turns, 3);
  EXPECT_EQ(options.load.shared_prefix_tokens, 50);
  EXPECT_EQ(options.load.timeout, absl::Seconds(5));
  EXPECT_EQ(options.load.seed, 9);
  EXPECT_EQ(options.load.request.sampling().top_k(), 40);
  EXPECT_FALSE(options.load.request.context().use_prefix_cache());
  EXPECT_TRUE(options.json);
}

TEST(BenchOptionsTest, ServeTakesTheDefaultAddressOrAModel) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const BenchOptions options, Parse({"--serve"}));
  EXPECT_EQ(options.target.address, kDefaultAddress);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const BenchOptions model, Parse({"--serve", "--model", "/m"}));
  EXPECT_EQ(model.target.address, "");
  EXPECT_EQ(model.target.model, "/m");
}

TEST(BenchOptionsTest, WithoutAServerTheModelRunsHere) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const BenchOptions options,
      Parse({"--model", "/m", "--precision", "int8", "--threads", "3", "-p", "64,128", "-n", "16",
             "-b", "1,8", "-r", "2", "--depth", "10", "--bound"}));
  EXPECT_FALSE(options.serving);
  EXPECT_EQ(options.model_bench.model, "/m");
  EXPECT_EQ(options.model_bench.precision, "int8");
  EXPECT_EQ(options.model_bench.threads, 3);
  EXPECT_THAT(options.model_bench.prompt_tokens, ElementsAre(64, 128));
  EXPECT_THAT(options.model_bench.new_tokens, ElementsAre(16));
  EXPECT_THAT(options.model_bench.batches, ElementsAre(1, 8));
  EXPECT_EQ(options.model_bench.repetitions, 2);
  EXPECT_EQ(options.model_bench.depth, 10);
  EXPECT_TRUE(options.model_bench.bound);
}

TEST(BenchOptionsTest, ErrorsNameTheOption) {
  const auto error = [](std::vector<std::string> arguments) {
    const absl::StatusOr<BenchOptions> options = Parse(std::move(arguments));
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.status().message());
  };
  EXPECT_THAT(error({"--serve", "--prompt-tokens", "many"}),
              AllOf(HasSubstr("--prompt-tokens"), HasSubstr("many")));
  EXPECT_THAT(error({"--serve", "--duration", "long"}),
              AllOf(HasSubstr("--duration"), HasSubstr("long")));
  EXPECT_THAT(error({"--serve", "--concurrency", "5000"}), HasSubstr("[1, 1024]"));
  EXPECT_THAT(error({"--serve", "--concurrency", "0"}), HasSubstr("--concurrency is 0"));
  EXPECT_THAT(error({"--serve", "--request-rate", "0"}), HasSubstr("--request-rate is 0"));
  EXPECT_THAT(error({"--serve", "--num-requests", "0"}), HasSubstr("--num-requests is 0"));
  EXPECT_THAT(error({"--concurrency", "2"}),
              AllOf(HasSubstr("--concurrency"), HasSubstr("--serve")));
  EXPECT_THAT(error({"--serve", "-p", "2"}), HasSubstr("--prefill"));
  EXPECT_THAT(error({"--top-k", "2"}), HasSubstr("--top-k"));
  EXPECT_THAT(error({"--threads", "two"}), HasSubstr("two"));
  EXPECT_THAT(error({"-b", "0"}), HasSubstr("must be in [1, 4096]"));
  EXPECT_THAT(error({"--serve", "--max-new-tokens", "5"}), HasSubstr("--output-tokens"));
}

// The command against a fake gateway whose model has 100 token ids.
class BenchCommandTest : public ::testing::Test {
 protected:
  BenchCommandTest() {
    gateway_.on_get_model = [](const gateway::v1::GetModelRequest&,
                               gateway::v1::GetModelResponse& response) {
      response.set_model("tiny");
      response.mutable_shape()->set_vocab_size(100);
      response.set_max_sequence_length(1000);
      return grpc::Status::OK;
    };
    gateway_.on_generate = [this](grpc::ServerContext&, const gateway::v1::GenerateRequest& request,
                                  FakeGateway::GenerateWriter& writer) {
      {
        absl::MutexLock lock(&mutex_);
        requests_.push_back(request);
      }
      gateway::v1::GenerateResponse message;
      message.mutable_delta()->add_token_ids(1);
      writer.Write(message);
      writer.Write(FinishedMessage());
      return grpc::Status::OK;
    };
    options_.serving = true;
    options_.target.address = gateway_.address();
    options_.load.concurrency = 2;
    options_.load.num_requests = 5;
  }

  Interrupts interrupts_;
  BenchOptions options_;
  std::stringstream in_, out_, err_;
  Terminal terminal_ = {in_, out_, err_};
  absl::Mutex mutex_;
  std::vector<gateway::v1::GenerateRequest> requests_;
  FakeGateway gateway_;  // Last: its calls end before the rest is gone.
};

TEST_F(BenchCommandTest, WritesATable) {
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitOk);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("Model       tiny"), HasSubstr("5 completed, 0 failed"),
                                HasSubstr("time to first token")));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(BenchCommandTest, WritesJson) {
  options_.json = true;
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitOk);
  const auto json = nlohmann::json::parse(out_.str(), nullptr, false);
  EXPECT_EQ(json["completed_count"], 5);
  EXPECT_EQ(json["output_token_count"], 5);
}

TEST_F(BenchCommandTest, PromptsComeFromTheFile) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto folder, TemporaryFolder::Create());
  options_.load.prompt_file = folder->path() + "/text";
  std::ofstream(options_.load.prompt_file) << "some text";
  gateway_.on_tokenize = [](const gateway::v1::TokenizeRequest& request,
                            gateway::v1::TokenizeResponse& response) {
    EXPECT_EQ(request.text(), "some text");
    response.add_token_ids(42);
    return grpc::Status::OK;
  };
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitOk);
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(requests_[0].token_ids().ids(), ::testing::Each(42));
}

TEST_F(BenchCommandTest, PromptThatCannotFitIsAUsageError) {
  options_.load.prompt_tokens = LengthDistribution(2000);
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitUsage);
  EXPECT_THAT(err_.str(), HasSubstr("max_sequence_length is 1000"));
}

TEST_F(BenchCommandTest, ServerThatRefusesAllIsAnError) {
  gateway_.on_generate = nullptr;
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitError);
  EXPECT_THAT(out_.str(), HasSubstr("UNIMPLEMENTED x 5"));
}

TEST_F(BenchCommandTest, NoServerIsToldAtOnce) {
  gateway_.Stop();
  EXPECT_EQ(BenchCommand(options_, terminal_, interrupts_), kExitUnavailable);
  EXPECT_THAT(err_.str(), HasSubstr("UNAVAILABLE"));
}

}  // namespace
}  // namespace phyllo
