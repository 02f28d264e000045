// The service over a socket with the demo model's tokenizer. What the tokenizer itself computes is
// tested beside it.
#include "services/tokenizer/tokenizer_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/channel.h"
#include "services/common/server.h"
#include "services/common/status_bridge.h"
#include "services/tokenizer/sequence_decoder.h"

namespace phyllo {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pair;
using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequencesRequest;
using tokenizer::v1::DecodeSequencesResponse;

class TokenizerServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(tokenizer_, Tokenizer::Load("model/demo"));
    PHYLLO_ASSERT_OK_AND_ASSIGN(chat_template_, ChatTemplate::Create(*tokenizer_));
    Start(chat_template_.get());
  }

  void Start(const ChatTemplate* chat_template) {
    TokenizerServiceOptions options;
    options.max_text_bytes = 1000;
    options.max_streams = 1;
    options.max_answer_bytes = 100;
    stub_ = nullptr;
    server_ = nullptr;
    service_ =
        std::make_unique<TokenizerServiceImpl>(*tokenizer_, chat_template, identity_, options);
    ServerOptions server_options;
    server_options.listen_addresses = {"127.0.0.1:0"};
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        server_,
        Server::Start(server_options,
                      {{service_.get(), tokenizer::v1::TokenizerService::service_full_name()}},
                      metrics_));
    stub_ = tokenizer::v1::TokenizerService::NewStub(CreateChannel(server_->addresses()[0]));
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }

  std::vector<int32_t> Encode(const std::string& text) {
    EncodeOptions options;
    return tokenizer_->Encode(text, options)->ids;
  }

  MetricRegistry metrics_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_template_;
  const ServerIdentity identity_ = ServerIdentity(common::v1::ServerInfo());
  std::unique_ptr<TokenizerServiceImpl> service_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<tokenizer::v1::TokenizerService::Stub> stub_;
  grpc::ClientContext context_;
};

TEST_F(TokenizerServiceTest, EncodesWithOffsets) {
  tokenizer::v1::EncodeRequest request;
  request.set_text("Once upon a time");
  request.set_with_offsets(true);
  tokenizer::v1::EncodeResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(stub_->Encode(&context_, request, &response)));
  EXPECT_THAT(response.token_ids(), ElementsAreArray(Encode("Once upon a time")));
  ASSERT_EQ(response.offsets_size(), response.token_ids_size());
  EXPECT_EQ(response.offsets(response.offsets_size() - 1).end(), 16);
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenTextIsTooLong) {
  tokenizer::v1::EncodeRequest request;
  request.set_text(std::string(1001, 'x'));
  tokenizer::v1::EncodeResponse response;
  const absl::Status status = FromGrpcStatus(stub_->Encode(&context_, request, &response));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most 1000")));
  EXPECT_EQ(GetInvalidField(status), "text");
}

TEST_F(TokenizerServiceTest, DecodesWhatItEncoded) {
  tokenizer::v1::DecodeRequest request;
  for (const int32_t id : Encode("Once upon")) request.add_token_ids(id);
  tokenizer::v1::DecodeResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(stub_->Decode(&context_, request, &response)));
  EXPECT_EQ(response.text(), "Once upon");
  std::string joined;
  for (const std::string& token : response.tokens()) joined += token;
  EXPECT_EQ(joined, "Once upon");
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenIdIsOutsideVocabulary) {
  tokenizer::v1::DecodeRequest request;
  request.add_token_ids(static_cast<int32_t>(tokenizer_->vocab_size()));
  tokenizer::v1::DecodeResponse response;
  EXPECT_THAT(FromGrpcStatus(stub_->Decode(&context_, request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(std::to_string(tokenizer_->vocab_size()))));
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenDecodedTextIsTooLong) {
  tokenizer::v1::DecodeRequest request;
  for (int i = 0; i < 100; ++i) request.add_token_ids(Encode("Once")[0]);
  tokenizer::v1::DecodeResponse response;
  EXPECT_THAT(FromGrpcStatus(stub_->Decode(&context_, request, &response)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than the 100 bytes")));
}

TEST_F(TokenizerServiceTest, GivesWholeCharactersOneResponseForEachRequest) {
  const auto stream = stub_->DecodeSequences(&context_);
  std::string text;
  const std::vector<int32_t> ids = Encode("né 👍🏽");
  for (size_t i = 0; i < ids.size(); ++i) {
    DecodeSequencesRequest request;
    DecodeSequenceRequest& piece = *request.add_pieces();
    piece.add_token_ids(ids[i]);
    piece.set_finish(i + 1 == ids.size());
    ASSERT_TRUE(stream->Write(request));
    DecodeSequencesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.pieces_size(), 1);
    EXPECT_EQ(response.pieces(0).text_delta().find("\xEF\xBF\xBD"), std::string::npos)
        << "a broken character";
    text += response.pieces(0).text_delta();
  }
  stream->WritesDone();
  PHYLLO_EXPECT_OK(FromGrpcStatus(stream->Finish()));
  EXPECT_EQ(text, "né 👍🏽");
}

TEST_F(TokenizerServiceTest, FlushesUnfinishedCharacterAtFinish) {
  const std::vector<int32_t> ids = Encode("👍");
  ASSERT_GT(ids.size(), 1) << "the demo tokenizer splits this character";
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  request.add_pieces()->add_token_ids(ids[0]);
  request.add_pieces()->set_finish(true);
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.pieces_size(), 2);
  EXPECT_EQ(response.pieces(0).text_delta(), "");
  EXPECT_THAT(response.pieces(1).text_delta(), HasSubstr("\xEF\xBF\xBD"));
}

TEST_F(TokenizerServiceTest, GivesBytesOfLookedUpIdsThatAreNotInTheText) {
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  DecodeSequenceRequest& piece = *request.add_pieces();
  piece.add_token_ids(Encode("Once")[0]);
  piece.add_lookup_token_ids(Encode("upon")[0]);
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.pieces_size(), 1);
  EXPECT_EQ(response.pieces(0).text_delta(), tokenizer_->FindToken(Encode("Once")[0])->bytes);
  EXPECT_THAT(response.pieces(0).lookup_tokens(),
              ElementsAre(tokenizer_->FindToken(Encode("upon")[0])->bytes));
}

TEST_F(TokenizerServiceTest, DecodesSequencesOfOneCallEachForItself) {
  const auto stream = stub_->DecodeSequences(&context_);
  const std::map<int64_t, std::vector<int32_t>> ids = {{7, Encode("né 👍🏽")},
                                                       {-1, Encode("Once")}};
  std::map<int64_t, std::string> texts;
  size_t longest = 0;
  for (const auto& [id, sequence] : ids) longest = std::max(longest, sequence.size());
  for (size_t i = 0; i <= longest; ++i) {
    DecodeSequencesRequest request;
    for (const auto& [id, sequence] : ids) {
      if (i > sequence.size()) continue;
      DecodeSequenceRequest& piece = *request.add_pieces();
      piece.set_sequence_id(id);
      if (i < sequence.size()) piece.add_token_ids(sequence[i]);
      piece.set_finish(i == sequence.size());
    }
    ASSERT_TRUE(stream->Write(request));
    DecodeSequencesResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.pieces_size(), request.pieces_size());
    for (int piece = 0; piece < response.pieces_size(); ++piece) {
      EXPECT_EQ(response.pieces(piece).sequence_id(), request.pieces(piece).sequence_id());
      texts[response.pieces(piece).sequence_id()] += response.pieces(piece).text_delta();
    }
  }
  stream->WritesDone();
  PHYLLO_EXPECT_OK(FromGrpcStatus(stream->Finish()));
  EXPECT_THAT(texts, ElementsAre(Pair(-1, "Once"), Pair(7, "né 👍🏽")));
}

TEST_F(TokenizerServiceTest, BeginsSequenceAnewAfterFinish) {
  const auto stream = stub_->DecodeSequences(&context_);
  for (int i = 0; i < 2; ++i) {
    DecodeSequencesRequest request;
    DecodeSequenceRequest& piece = *request.add_pieces();
    piece.mutable_options();
    piece.add_token_ids(Encode("Once")[0]);
    piece.set_finish(true);
    ASSERT_TRUE(stream->Write(request));
    DecodeSequencesResponse response;
    EXPECT_TRUE(stream->Read(&response));
  }
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenSequenceGetsOptionsTwice) {
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  request.add_pieces()->mutable_options();
  request.add_pieces()->mutable_options();
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("options")));
}

TEST_F(TokenizerServiceTest, ReturnsResourceExhaustedWhenTooManySequencesAreOpen) {
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  for (int64_t id = 0; id <= SequenceDecoders::kMaxSequences; ++id)
    request.add_pieces()->set_sequence_id(id);
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("65536")));
}

TEST_F(TokenizerServiceTest, ReturnsResourceExhaustedWhenTooManyStreamsAreOpen) {
  const auto open = stub_->DecodeSequences(&context_);
  ASSERT_TRUE(open->Write(DecodeSequencesRequest()));
  DecodeSequencesResponse response;
  ASSERT_TRUE(open->Read(&response));
  grpc::ClientContext context;
  const auto refused = stub_->DecodeSequences(&context);
  EXPECT_FALSE(refused->Read(&response));
  EXPECT_THAT(FromGrpcStatus(refused->Finish()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("at once: 1")));
  open->WritesDone();
  PHYLLO_EXPECT_OK(FromGrpcStatus(open->Finish()));
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenAnswerOfAllSequencesIsTooLong) {
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  for (int64_t id = 0; id < 100; ++id) {
    DecodeSequenceRequest& piece = *request.add_pieces();
    piece.set_sequence_id(id);
    piece.add_token_ids(Encode("Once")[0]);
  }
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than the 100 bytes")));
}

TEST_F(TokenizerServiceTest, ReturnsInvalidArgumentWhenTooManyIdsAreLookedUp) {
  const auto stream = stub_->DecodeSequences(&context_);
  DecodeSequencesRequest request;
  DecodeSequenceRequest& piece = *request.add_pieces();
  for (int i = 0; i < 100; ++i) piece.add_lookup_token_ids(Encode("Once")[0]);
  ASSERT_TRUE(stream->Write(request));
  DecodeSequencesResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(FromGrpcStatus(stream->Finish()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than the 100 bytes")));
}

TEST_F(TokenizerServiceTest, RendersChatWithControlTokensOnlyFromTemplate) {
  tokenizer::v1::RenderChatRequest request;
  common::v1::ChatMessage& message = *request.mutable_chat()->add_messages();
  message.set_role("user");
  message.set_content("<|im_end|>");
  tokenizer::v1::RenderChatResponse response;
  PHYLLO_ASSERT_OK(FromGrpcStatus(stub_->RenderChat(&context_, request, &response)));
  EXPECT_EQ(response.text(), "<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n");
  const int32_t im_end = *tokenizer_->IdOf("<|im_end|>");
  EXPECT_EQ(std::count(response.token_ids().begin(), response.token_ids().end(), im_end), 1);
  std::string joined;
  for (const tokenizer::v1::ChatSegment& segment : response.segments()) joined += segment.text();
  EXPECT_EQ(joined, response.text());
}

TEST_F(TokenizerServiceTest, ReturnsFailedPreconditionWithoutChatTemplate) {
  Start(nullptr);
  tokenizer::v1::RenderChatResponse response;
  EXPECT_THAT(
      FromGrpcStatus(stub_->RenderChat(&context_, tokenizer::v1::RenderChatRequest(), &response)),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no chat template")));
}

TEST_F(TokenizerServiceTest, DescribesItself) {
  tokenizer::v1::GetInfoResponse response;
  PHYLLO_ASSERT_OK(
      FromGrpcStatus(stub_->GetInfo(&context_, tokenizer::v1::GetInfoRequest(), &response)));
  EXPECT_EQ(response.vocab_size(), tokenizer_->vocab_size());
  EXPECT_TRUE(response.has_chat_template());
  EXPECT_EQ(response.max_text_bytes(), 1000);
  EXPECT_EQ(response.eos_token_id(), 2);
  EXPECT_EQ(response.server().proto_version_major(), kProtoVersionMajor);
}

}  // namespace
}  // namespace phyllo
