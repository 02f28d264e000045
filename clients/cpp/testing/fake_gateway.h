// A gateway that does what a test says.
#ifndef PHYLLO_CLIENTS_CPP_TESTING_FAKE_GATEWAY_H_
#define PHYLLO_CLIENTS_CPP_TESTING_FAKE_GATEWAY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_context.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"

namespace phyllo {

// Serves the handlers on a free port of 127.0.0.1 in this process until it is destroyed. A call
// without a handler is UNIMPLEMENTED with a message that names it. Set handlers before the first
// call; they may run on any thread.
class FakeGateway final : public gateway::v1::GatewayService::Service {
 public:
  using GenerateWriter = grpc::ServerWriter<gateway::v1::GenerateResponse>;
  template <typename Request, typename Response>
  using Handler = std::function<grpc::Status(const Request&, Response&)>;

  FakeGateway();
  ~FakeGateway() override;

  // "127.0.0.1:PORT".
  const std::string& address() const { return address_; }
  // Ends the server; running calls are cancelled.
  void Stop();

  std::function<grpc::Status(grpc::ServerContext&, const gateway::v1::GenerateRequest&,
                             GenerateWriter&)>
      on_generate;
  std::function<grpc::Status(const gateway::v1::ScoreRequest&,
                             grpc::ServerWriter<gateway::v1::ScoreResponse>&)>
      on_score;
  Handler<gateway::v1::EmbedRequest, gateway::v1::EmbedResponse> on_embed;
  Handler<gateway::v1::ClassifyRequest, gateway::v1::ClassifyResponse> on_classify;
  Handler<gateway::v1::TokenizeRequest, gateway::v1::TokenizeResponse> on_tokenize;
  Handler<gateway::v1::DetokenizeRequest, gateway::v1::DetokenizeResponse> on_detokenize;
  Handler<gateway::v1::RenderChatRequest, gateway::v1::RenderChatResponse> on_render_chat;
  Handler<gateway::v1::GetModelRequest, gateway::v1::GetModelResponse> on_get_model;

  grpc::Status Generate(grpc::ServerContext* context, const gateway::v1::GenerateRequest* request,
                        GenerateWriter* writer) override;
  grpc::Status Score(grpc::ServerContext* context, const gateway::v1::ScoreRequest* request,
                     grpc::ServerWriter<gateway::v1::ScoreResponse>* writer) override;
  grpc::Status Embed(grpc::ServerContext* context, const gateway::v1::EmbedRequest* request,
                     gateway::v1::EmbedResponse* response) override;
  grpc::Status Classify(grpc::ServerContext* context, const gateway::v1::ClassifyRequest* request,
                        gateway::v1::ClassifyResponse* response) override;
  grpc::Status Tokenize(grpc::ServerContext* context, const gateway::v1::TokenizeRequest* request,
                        gateway::v1::TokenizeResponse* response) override;
  grpc::Status Detokenize(grpc::ServerContext* context,
                          const gateway::v1::DetokenizeRequest* request,
                          gateway::v1::DetokenizeResponse* response) override;
  grpc::Status RenderChat(grpc::ServerContext* context,
                          const gateway::v1::RenderChatRequest* request,
                          gateway::v1::RenderChatResponse* response) override;
  grpc::Status GetModel(grpc::ServerContext* context, const gateway::v1::GetModelRequest* request,
                        gateway::v1::GetModelResponse* response) override;

 private:
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// A message that brings `text` for the choice `choice_index`.
gateway::v1::GenerateResponse DeltaMessage(const std::string& text, int choice_index = 0);
// A last message: end of sequence, 3 prompt tokens, 2 generated ones in 0.5 s, seed 7.
gateway::v1::GenerateResponse FinishedMessage(int choice_index = 0);
// A handler of Generate that sends `texts` as deltas, then the last message, and OK.
std::function<grpc::Status(grpc::ServerContext&, const gateway::v1::GenerateRequest&,
                           FakeGateway::GenerateWriter&)>
AnswerWith(std::vector<std::string> texts);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CPP_TESTING_FAKE_GATEWAY_H_
