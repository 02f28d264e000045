#include "services/gateway/backends/path.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

BackendState Available(BackendKind kind, const std::string& name,
                       const std::string& config_digest) {
  BackendState backend;
  backend.kind = kind;
  backend.name = name;
  backend.health = absl::OkStatus();
  common::v1::ServerInfo info;
  info.mutable_fingerprint()->set_config_sha256(config_digest);
  *backend.tokenizer.mutable_server() = info;
  *backend.embedding.mutable_server() = info;
  *backend.transformer.mutable_server() = info;
  return backend;
}

// Tokenizer [0], embedding [1], transformers [2] and [3], all of one model.
std::vector<BackendState> OneModel() {
  return {Available(BackendKind::kTokenizer, "tokenizer #1", "a"),
          Available(BackendKind::kEmbedding, "embedding #1", "a"),
          Available(BackendKind::kTransformer, "transformer #1", "a"),
          Available(BackendKind::kTransformer, "transformer #2", "a")};
}

TEST(ChooseTransformerTest, TakesLeastOutstandingTokens) {
  std::vector<BackendState> backends = OneModel();
  backends[2].outstanding_tokens = 100;
  backends[3].outstanding_tokens = 99;
  EXPECT_EQ(*ChooseTransformer(backends, 0), 3);
  backends[3].outstanding_tokens = 101;
  EXPECT_EQ(*ChooseTransformer(backends, 0), 2);
}

TEST(ChooseTransformerTest, TakesTurnsAmongEquals) {
  const std::vector<BackendState> backends = OneModel();
  EXPECT_EQ(*ChooseTransformer(backends, 0), 2);
  EXPECT_EQ(*ChooseTransformer(backends, 1), 3);
  EXPECT_EQ(*ChooseTransformer(backends, 2), 2);
}

TEST(ChooseTransformerTest, PassesOverUnavailableOne) {
  std::vector<BackendState> backends = OneModel();
  backends[2].health = absl::UnavailableError("down");
  EXPECT_EQ(*ChooseTransformer(backends, 0), 3);
}

TEST(ChooseTransformerTest, NamesServiceThatIsMissing) {
  std::vector<BackendState> backends = OneModel();
  backends[1].health = absl::UnavailableError("connect to unix:/secret/path failed");
  const absl::Status status = ChooseTransformer(backends, 0).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kUnavailable, "the embedding service is unavailable"));
  EXPECT_EQ(GetReason(status)->metadata.at("service"), "embedding");
}

TEST(ChooseTransformerTest, PassesOverTransformerOfAnotherModel) {
  std::vector<BackendState> backends = OneModel();
  backends[2] = Available(BackendKind::kTransformer, "transformer #1", "b");
  EXPECT_EQ(*ChooseTransformer(backends, 0), 3);
}

TEST(ChooseTransformerTest, NamesBothSidesWhenNothingFits) {
  std::vector<BackendState> backends = OneModel();
  backends[0] = Available(BackendKind::kTokenizer, "tokenizer #1", "b");
  EXPECT_THAT(ChooseTransformer(backends, 0).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("transformer #"), HasSubstr("tokenizer #1"))));
}

TEST(ChooseByTurnTest, TakesTurnsAmongAvailable) {
  std::vector<BackendState> backends = OneModel();
  backends.push_back(Available(BackendKind::kTokenizer, "tokenizer #2", "a"));
  EXPECT_EQ(*ChooseByTurn(backends, BackendKind::kTokenizer, nullptr, 0), 0);
  EXPECT_EQ(*ChooseByTurn(backends, BackendKind::kTokenizer, nullptr, 1), 4);
  backends[0].health = absl::UnavailableError("down");
  EXPECT_EQ(*ChooseByTurn(backends, BackendKind::kTokenizer, nullptr, 2), 4);
}

}  // namespace
}  // namespace phyllo
