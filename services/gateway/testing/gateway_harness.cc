#include "services/gateway/testing/gateway_harness.h"

#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "gtest/gtest.h"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"

namespace phyllo {

GatewayHarness::~GatewayHarness() {
  gateway_server_.reset();
  backends_.reset();
}

void GatewayHarness::StartSecondTokenizer() {
  second_tokenizer_server_ =
      Serve(second_tokenizer, tokenizer::v1::TokenizerService::service_full_name());
}

void GatewayHarness::Start() {
  ServeTokenizer();
  embedding_server_ = Serve(embedding, embedding::v1::EmbeddingService::service_full_name());
  transformer_server_ =
      Serve(transformer, transformer::v1::TransformerService::service_full_name());
  BackendSetOptions options;
  options.tokenizer_addresses = {tokenizer_address_};
  if (second_tokenizer_server_ != nullptr)
    options.tokenizer_addresses.push_back(second_tokenizer_server_->addresses()[0]);
  options.embedding_addresses = {embedding_server_->addresses()[0]};
  options.transformer_addresses = {transformer_server_->addresses()[0]};
  options.check_interval = absl::Milliseconds(50);
  options.retry_interval = absl::Milliseconds(20);
  options.on_path_change = [this](bool complete) {
    const absl::MutexLock lock(&mutex_);
    path_complete_ = complete;
  };
  logger_ = std::make_unique<Logger>(
      LoggerOptions{"gateway", LogLevel::kDebug, LogFormat::kLogfmt, &log_});
  admission_ = std::make_unique<Admission>(options_.admission);
  gateway_metrics_ = std::make_unique<GatewayMetrics>(metrics_, *admission_);
  stall_watch_ = std::make_unique<StallWatch>(options_.max_client_stall);
  backends_ = std::make_unique<BackendSet>(std::move(options));
  generator_ = std::make_unique<Generator>(*backends_, *admission_, *gateway_metrics_, *logger_);
  scorer_ = std::make_unique<Scorer>(*backends_, *admission_);
  encoder_ = std::make_unique<Encoder>(*backends_, *admission_);
  tokenizer_calls_ = std::make_unique<TokenizerCalls>(*backends_, *admission_);
  identity_ = std::make_unique<ServerIdentity>(common::v1::ServerInfo());
  service_ = std::make_unique<GatewayServiceImpl>(GatewayServiceParts{
      *generator_, *scorer_, *encoder_, *tokenizer_calls_, *backends_, *stall_watch_, *identity_});
  ServerOptions server_options;
  server_options.max_handler_threads = options_.max_handler_threads;
  gateway_server_ =
      Serve(*service_, gateway::v1::GatewayService::service_full_name(), std::move(server_options));
  stub_ = gateway::v1::GatewayService::NewStub(CreateChannel(gateway_server_->addresses()[0]));
}

bool GatewayHarness::WaitForPath(bool complete) {
  const auto reached = [this, complete]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return path_complete_ == complete;
  };
  const absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), absl::Seconds(30));
}

void GatewayHarness::ServeTokenizer() {
  ServerOptions options;
  options.listen_addresses = {tokenizer_address_};
  tokenizer_server_ =
      Serve(tokenizer, tokenizer::v1::TokenizerService::service_full_name(), std::move(options));
}

Received GatewayHarness::Generate(const gateway::v1::GenerateRequest& request,
                                  absl::Duration timeout) {
  Received received;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  const auto stream = stub_->Generate(&context, request);
  gateway::v1::GenerateResponse message;
  std::set<int32_t> finished_choices;
  while (stream->Read(&message)) {
    EXPECT_EQ(message.sequence_number(), static_cast<int64_t>(received.messages.size()))
        << "numbered without a gap";
    EXPECT_EQ(finished_choices.count(message.choice_index()), 0)
        << "nothing follows the final message of choice " << message.choice_index();
    received.text += message.delta().text();
    if (message.has_finished()) {
      received.finished = message.finished();
      finished_choices.insert(message.choice_index());
    }
    received.messages.push_back(message);
  }
  received.status = FromGrpcStatus(stream->Finish());
  return received;
}

std::string GatewayHarness::LogText() {
  gateway_server_.reset();  // Nothing is logged any more.
  return log_.str();
}

std::unique_ptr<Server> GatewayHarness::Serve(grpc::Service& service, const char* name,
                                              ServerOptions options) {
  if (options.listen_addresses.empty()) options.listen_addresses = {"127.0.0.1:0"};
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Start(options, {{&service, name}}, fake_metrics_);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

}  // namespace phyllo
