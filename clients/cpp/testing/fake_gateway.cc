#include "clients/cpp/testing/fake_gateway.h"

#include <chrono>
#include <utility>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace phyllo {
namespace {

grpc::Status Unexpected(const char* method) {
  return grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                      std::string("the test expects no call of ") + method);
}

}  // namespace

FakeGateway::FakeGateway() {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeGateway::~FakeGateway() { Stop(); }

void FakeGateway::Stop() { server_->Shutdown(std::chrono::system_clock::now()); }

grpc::Status FakeGateway::Generate(grpc::ServerContext* context,
                                   const gateway::v1::GenerateRequest* request,
                                   GenerateWriter* writer) {
  return on_generate ? on_generate(*context, *request, *writer) : Unexpected("Generate");
}

grpc::Status FakeGateway::Score(grpc::ServerContext* context,
                                const gateway::v1::ScoreRequest* request,
                                grpc::ServerWriter<gateway::v1::ScoreResponse>* writer) {
  return on_score ? on_score(*request, *writer) : Unexpected("Score");
}

grpc::Status FakeGateway::Embed(grpc::ServerContext* context,
                                const gateway::v1::EmbedRequest* request,
                                gateway::v1::EmbedResponse* response) {
  return on_embed ? on_embed(*request, *response) : Unexpected("Embed");
}

grpc::Status FakeGateway::Classify(grpc::ServerContext* context,
                                   const gateway::v1::ClassifyRequest* request,
                                   gateway::v1::ClassifyResponse* response) {
  return on_classify ? on_classify(*request, *response) : Unexpected("Classify");
}

grpc::Status FakeGateway::Tokenize(grpc::ServerContext* context,
                                   const gateway::v1::TokenizeRequest* request,
                                   gateway::v1::TokenizeResponse* response) {
  return on_tokenize ? on_tokenize(*request, *response) : Unexpected("Tokenize");
}

grpc::Status FakeGateway::Detokenize(grpc::ServerContext* context,
                                     const gateway::v1::DetokenizeRequest* request,
                                     gateway::v1::DetokenizeResponse* response) {
  return on_detokenize ? on_detokenize(*request, *response) : Unexpected("Detokenize");
}

grpc::Status FakeGateway::RenderChat(grpc::ServerContext* context,
                                     const gateway::v1::RenderChatRequest* request,
                                     gateway::v1::RenderChatResponse* response) {
  return on_render_chat ? on_render_chat(*request, *response) : Unexpected("RenderChat");
}

grpc::Status FakeGateway::GetModel(grpc::ServerContext* context,
                                   const gateway::v1::GetModelRequest* request,
                                   gateway::v1::GetModelResponse* response) {
  return on_get_model ? on_get_model(*request, *response) : Unexpected("GetModel");
}

gateway::v1::GenerateResponse DeltaMessage(const std::string& text, int choice_index) {
  gateway::v1::GenerateResponse message;
  message.set_choice_index(choice_index);
  message.mutable_delta()->set_text(text);
  return message;
}

gateway::v1::GenerateResponse FinishedMessage(int choice_index) {
  gateway::v1::GenerateResponse message;
  message.set_choice_index(choice_index);
  gateway::v1::Finished& finished = *message.mutable_finished();
  finished.set_finish_reason(common::v1::FINISH_REASON_EOS);
  finished.mutable_usage()->set_prompt_token_count(3);
  finished.mutable_usage()->set_generated_token_count(2);
  finished.mutable_latency()->mutable_decode()->set_nanos(500'000'000);
  finished.mutable_resolved()->mutable_sampling()->set_seed(7);
  return message;
}

std::function<grpc::Status(grpc::ServerContext&, const gateway::v1::GenerateRequest&,
                           FakeGateway::GenerateWriter&)>
AnswerWith(std::vector<std::string> texts) {
  return [texts = std::move(texts)](grpc::ServerContext&, const gateway::v1::GenerateRequest&,
                                    FakeGateway::GenerateWriter& writer) {
    for (const std::string& text : texts) writer.Write(DeltaMessage(text));
    writer.Write(FinishedMessage());
    return grpc::Status::OK;
  };
}

}  // namespace phyllo
