// The C++ client of a Phyllo gateway: one method an RPC, absl::Status for errors.
//
//   PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
//   Client::Connect("127.0.0.1:50050")); gateway::v1::GenerateRequest request;
//   request.set_text("Once upon a time");
//   const auto print = [](const gateway::v1::GenerateResponse& message) { std::cout <<
//   message.delta().text() << std::flush; }; PHYLLO_ASSIGN_OR_RETURN(const
//   gateway::v1::GenerateUnaryResponse answer, client->Generate(request, {}, print));
#ifndef PHYLLO_CLIENTS_CPP_CLIENT_H_
#define PHYLLO_CLIENTS_CPP_CLIENT_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/cpp/generate_stream.h"
#include "phyllo/gateway/v1/gateway.pb.h"

namespace phyllo {

// How one call is made.
struct CallOptions {
  // The call ends with DEADLINE_EXCEEDED after this time; the deadline reaches the engine.
  absl::Duration timeout = absl::InfiniteDuration();
  // Waits for a server that does not answer yet, up to the timeout, instead of UNAVAILABLE.
  bool wait_for_ready = false;
};

// Is called with every message of a stream, on the caller's thread, in order.
using GenerateObserver = absl::FunctionRef<void(const gateway::v1::GenerateResponse&)>;

// Owns a connection, which is made on the first call and again after it broke. Every method blocks
// for its one RPC. The status of a call is the server's: its message is for people; its payloads
// are read by services/common/status_bridge.h. UNAVAILABLE names the address. Thread-safe.
class Client {
 public:
  // `address` is "host:port" or "unix:PATH" of a gateway. INVALID_ARGUMENT if it is empty; does not
  // connect yet.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const std::string& address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Opens a stream. Errors come from its Next().
  std::unique_ptr<GenerateStream> StreamGenerate(const gateway::v1::GenerateRequest& request,
                                                 const CallOptions& options = {});
  // Generates over the stream, shows every message to `observer`, and returns the collected answers
  // by choice index.
  absl::StatusOr<gateway::v1::GenerateUnaryResponse> Generate(
      const gateway::v1::GenerateRequest& request, const CallOptions& options = {},
      GenerateObserver observer = [](const gateway::v1::GenerateResponse&) {});
  // Scores, and returns the stream's chunks put together: log-probabilities [n] and the summary.
  absl::StatusOr<gateway::v1::ScoreResponse> Score(const gateway::v1::ScoreRequest& request,
                                                   const CallOptions& options = {});

  absl::StatusOr<gateway::v1::EmbedResponse> Embed(const gateway::v1::EmbedRequest& request,
                                                   const CallOptions& options = {});
  absl::StatusOr<gateway::v1::ClassifyResponse> Classify(
      const gateway::v1::ClassifyRequest& request, const CallOptions& options = {});
  absl::StatusOr<gateway::v1::TokenizeResponse> Tokenize(
      const gateway::v1::TokenizeRequest& request, const CallOptions& options = {});
  absl::StatusOr<gateway::v1::DetokenizeResponse> Detokenize(
      const gateway::v1::DetokenizeRequest& request, const CallOptions& options = {});
  absl::StatusOr<gateway::v1::RenderChatResponse> RenderChat(
      const gateway::v1::RenderChatRequest& request, const CallOptions& options = {});
  absl::StatusOr<gateway::v1::ListModelsResponse> ListModels(const CallOptions& options = {});
  absl::StatusOr<gateway::v1::GetModelResponse> GetModel(
      const gateway::v1::GetModelRequest& request, const CallOptions& options = {});

 private:
  struct Connection;
  explicit Client(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CPP_CLIENT_H_
