// Embed and Classify through the gateway, with fakes behind it.
#include "services/gateway/encodings/encoder.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/status_bridge.h"
#include "services/gateway/encodings/encode_call.h"
#include "services/gateway/testing/gateway_harness.h"

namespace phyllo {
namespace {

using gateway::v1::ClassifyRequest;
using gateway::v1::ClassifyResponse;
using gateway::v1::EmbedRequest;
using gateway::v1::EmbedResponse;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

class EncoderTest : public ::testing::Test {
 protected:
  void Start() {
    gateway_.Start();
    ASSERT_TRUE(gateway_.WaitForPath(true));
  }

  absl::StatusOr<EmbedResponse> Embed(const EmbedRequest& request) {
    grpc::ClientContext context;
    EmbedResponse response;
    const absl::Status status = FromGrpcStatus(gateway_.stub().Embed(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }

  absl::StatusOr<ClassifyResponse> Classify(const ClassifyRequest& request) {
    grpc::ClientContext context;
    ClassifyResponse response;
    const absl::Status status =
        FromGrpcStatus(gateway_.stub().Classify(&context, request, &response));
    if (!status.ok()) return status;
    return response;
  }

  static EmbedRequest Texts(const std::vector<std::string>& texts) {
    EmbedRequest request;
    for (const std::string& text : texts) request.add_texts(text);
    return request;
  }

  static ClassifyRequest Question(const std::string& text) {
    ClassifyRequest request;
    request.add_texts(text);
    return request;
  }

  GatewayHarness gateway_;
};

TEST_F(EncoderTest, GivesOneVectorATextInTheirOrder) {
  Start();
  EmbedRequest request = Texts({"abc", "z", "hello"});
  request.set_normalize(false);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbedResponse response, Embed(request));
  ASSERT_EQ(response.vectors_size(), 3);
  EXPECT_THAT(response.vectors(0).values(), ElementsAre('a', 'c', 3));
  EXPECT_THAT(response.vectors(1).values(), ElementsAre('z', 'z', 1));
  EXPECT_THAT(response.vectors(2).values(), ElementsAre('h', 'o', 5));
  EXPECT_EQ(response.usage().prompt_token_count(), 9);
  EXPECT_EQ(response.pooling(), common::v1::POOLING_LAST);
}

TEST_F(EncoderTest, TakesMoreTextsThanAreUnderWayAtOnce) {
  Start();
  EmbedRequest request;
  request.set_normalize(false);
  for (int i = 0; i < 5 * kMaxConcurrentInputs; ++i)
    request.add_texts(std::string(1, static_cast<char>('!' + i)));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbedResponse response, Embed(request));
  ASSERT_EQ(response.vectors_size(), 5 * kMaxConcurrentInputs);
  for (int i = 0; i < response.vectors_size(); ++i)
    EXPECT_EQ(response.vectors(i).values(0), static_cast<float>('!' + i));
}

TEST_F(EncoderTest, CutsDimensionsBeforeItNormalizes) {
  Start();
  EmbedRequest request;
  for (const int32_t id : {3, 4}) request.add_token_ids()->add_ids(id);
  request.mutable_token_ids(0)->add_ids(4);
  request.set_dimensions(2);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbedResponse response, Embed(request));
  EXPECT_THAT(response.vectors(0).values(), ElementsAre(FloatEq(0.6f), FloatEq(0.8f)));
  EXPECT_EQ(response.vectors(1).values_size(), 2);
}

TEST_F(EncoderTest, EmbedsWithAModelThatClassifies) {
  gateway_.transformer.labels = {"bad", "good"};
  Start();
  EmbedRequest request = Texts({"ab"});
  request.set_normalize(false);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const EmbedResponse response, Embed(request));
  EXPECT_THAT(response.vectors(0).values(), ElementsAre('a', 'b', 2));
}

TEST_F(EncoderTest, NamesTheTextThatIsTooLong) {
  Start();
  const absl::StatusOr<EmbedResponse> response =
      Embed(Texts({"ab", std::string(kFakeMaxSequenceLength + 1, 'x')}));
  EXPECT_THAT(response, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("65 tokens"), HasSubstr("at most 64"))));
  EXPECT_EQ(GetInvalidField(response.status()), "texts[1]");
  EXPECT_EQ(GetReason(response.status())->reason, "PROMPT_TOO_LONG");
}

TEST_F(EncoderTest, NamesTheTextWithoutTokens) {
  Start();
  EXPECT_EQ(GetInvalidField(Embed(Texts({"ab", "c", ""})).status()), "texts[2]");
}

TEST_F(EncoderTest, NamesTheIdOutsideTheVocabulary) {
  Start();
  EmbedRequest request;
  request.add_token_ids()->add_ids(5);
  request.add_token_ids()->add_ids(kFakeVocabSize);
  const absl::Status status = Embed(request).status();
  EXPECT_EQ(GetInvalidField(status), "token_ids[1]");
}

TEST_F(EncoderTest, RejectsWrongRequests) {
  Start();
  EXPECT_EQ(GetInvalidField(Embed({}).status()), "texts");
  EmbedRequest both = Texts({"a"});
  both.add_token_ids()->add_ids(5);
  EXPECT_EQ(GetInvalidField(Embed(both).status()), "texts");
  EmbedRequest wide = Texts({"a"});
  wide.set_dimensions(kFakeHiddenSize + 1);
  EXPECT_EQ(GetInvalidField(Embed(wide).status()), "dimensions");
  EmbedRequest unpooled = Texts({"a"});
  unpooled.set_pooling(common::v1::POOLING_NONE);
  EXPECT_EQ(GetInvalidField(Embed(unpooled).status()), "pooling");
  EmbedRequest many;
  for (int64_t i = 0; i <= kMaxEncodeInputs; ++i) many.add_texts("a");
  EXPECT_THAT(Embed(many), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 2048")));
  EmbedRequest other = Texts({"a"});
  other.set_model("other");
  EXPECT_THAT(Embed(other), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(EncoderTest, OneFailureFailsTheRequest) {
  Start();
  EmbedRequest request;
  request.add_token_ids()->add_ids(5);
  request.add_token_ids()->add_ids(kFakeEos);
  EXPECT_THAT(Embed(request), StatusIs(absl::StatusCode::kInternal, HasSubstr("the end")));
}

TEST_F(EncoderTest, ServesWithOnePlaceOnly) {
  GatewayHarness small({.admission = {.max_requests = 1}});
  small.Start();
  ASSERT_TRUE(small.WaitForPath(true));
  grpc::ClientContext context;
  EmbedResponse response;
  PHYLLO_EXPECT_OK(FromGrpcStatus(small.stub().Embed(&context, Texts({"a", "b", "c"}), &response)));
  EXPECT_EQ(response.vectors_size(), 3);
}

TEST_F(EncoderTest, ReportsATransformerThatIsGone) {
  Start();
  gateway_.StopTransformer();
  EXPECT_THAT(Embed(Texts({"a"})), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(EncoderTest, GivesProbabilitiesByLabel) {
  gateway_.transformer.labels = {"bad", "good"};
  Start();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ClassifyResponse response, Classify(Question("x")));
  ASSERT_EQ(response.classifications(0).scores_size(), 2);
  EXPECT_EQ(response.classifications(0).scores(0).label(), "bad");
  // The logits differ by 1: 1 / (1 + exp(-1)).
  EXPECT_FLOAT_EQ(response.classifications(0).scores(0).score(), 0.7310586f);
  EXPECT_FLOAT_EQ(response.classifications(0).scores(1).score(), 0.2689414f);
  EXPECT_EQ(response.problem_type(), common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION);
}

TEST_F(EncoderTest, GivesRawLogitsWhenAskedFor) {
  gateway_.transformer.labels = {"bad", "good"};
  Start();
  ClassifyRequest request = Question("x");
  request.set_raw_logits(true);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ClassifyResponse response, Classify(request));
  EXPECT_EQ(response.classifications(0).scores(1).score(), 'x' - 1);
}

TEST_F(EncoderTest, UsesTheSigmoidOnlyWithMultiLabel) {
  gateway_.transformer.labels = {"a", "b"};
  gateway_.transformer.problem_type = common::v1::PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION;
  Start();
  ClassifyRequest request;
  request.add_token_ids()->add_ids(0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ClassifyResponse response, Classify(request));
  EXPECT_FLOAT_EQ(response.classifications(0).scores(0).score(), 0.5f);
  EXPECT_FLOAT_EQ(response.classifications(0).scores(1).score(), 0.2689414f);
}

TEST_F(EncoderTest, GivesTheValueOfARegression) {
  gateway_.transformer.labels = {"reward"};
  Start();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const ClassifyResponse response, Classify(Question("x")));
  EXPECT_EQ(response.classifications(0).scores(0).score(), 'x');
  EXPECT_EQ(response.problem_type(), common::v1::PROBLEM_TYPE_REGRESSION);
}

TEST_F(EncoderTest, RefusesToClassifyWithoutALabelHead) {
  Start();
  const absl::Status status = Classify(Question("x")).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"toy\" has an LM head")));
  EXPECT_EQ(GetReason(status)->reason, "NO_LABEL_HEAD");
}

}  // namespace
}  // namespace phyllo
