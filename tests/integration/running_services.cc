#include "tests/integration/running_services.h"

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <utility>

#include "clients/launcher/service_binaries.h"
#include "grpcpp/client_context.h"
#include "model/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"

namespace phyllo {

absl::StatusOr<std::unique_ptr<RunningServices>> RunningServices::Start(
    const ServiceFlags& flags, const std::string& model_folder) {
  LocalServicesOptions options;
  PHYLLO_ASSIGN_OR_RETURN(options.binaries, FindServiceBinaries());
  options.model_folder = model_folder;
  if (model_folder.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(options.model_folder, FindDemoModel());
  }
  options.flags = flags;
  // The first, so that another one in `flags` counts.
  auto& transformer_flags = options.flags[static_cast<int>(ServiceKind::kTransformer)];
  transformer_flags.insert(transformer_flags.begin(), "--precision=f32");
  options.gateway_address = "127.0.0.1:0";
  options.start_timeout = absl::Minutes(2);
  PHYLLO_ASSIGN_OR_RETURN(std::unique_ptr<LocalServices> services, LocalServices::Start(options));
  return std::unique_ptr<RunningServices>(new RunningServices(std::move(services)));
}

RunningServices::RunningServices(std::unique_ptr<LocalServices> services)
    : services_(std::move(services)),
      stub_(gateway::v1::GatewayService::NewStub(
          CreateChannel(services_->address(ServiceKind::kGateway)))) {}

Answer RunningServices::Generate(const gateway::v1::GenerateRequest& request,
                                 absl::Duration timeout) {
  Answer answer;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  const auto stream = stub_->Generate(&context, request);
  for (gateway::v1::GenerateResponse message; stream->Read(&message);) {
    answer.text += message.delta().text();
    const auto& ids = message.delta().token_ids();
    answer.token_ids.insert(answer.token_ids.end(), ids.begin(), ids.end());
    if (message.has_finished()) answer.finished = message.finished();
  }
  answer.status = FromGrpcStatus(stream->Finish());
  return answer;
}

void RunningServices::Kill(ServiceKind kind) {
  const pid_t pid = services_->pid(kind);
  kill(pid, SIGKILL);
  // Waits for its end without reaping it, which is the owner's.
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
}

std::vector<int32_t> RunningServices::Tokenize(const std::string& text) {
  gateway::v1::TokenizeRequest request;
  request.set_text(text);
  request.set_add_special_tokens(false);
  gateway::v1::TokenizeResponse response;
  grpc::ClientContext context;
  if (!stub_->Tokenize(&context, request, &response).ok()) return {};
  return {response.token_ids().begin(), response.token_ids().end()};
}

absl::StatusOr<std::vector<GoldenCase>> ReadGoldenCases() {
  std::ifstream file("tests/golden/data/demo/golden.json");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object() || !json.contains("cases") || json["cases"].empty()) {
    return absl::InvalidArgumentError("golden.json has no cases");
  }
  std::vector<GoldenCase> cases;
  for (const nlohmann::json& entry : json["cases"]) {
    cases.push_back({entry["input_ids"].get<std::vector<int32_t>>(),
                     entry["output_ids"].get<std::vector<int32_t>>(),
                     entry["output_text"].get<std::string>()});
  }
  return cases;
}

gateway::v1::GenerateRequest GreedyRequest(const std::vector<int32_t>& prompt, int max_new_tokens) {
  gateway::v1::GenerateRequest request;
  request.mutable_token_ids()->mutable_ids()->Add(prompt.begin(), prompt.end());
  request.mutable_sampling()->set_temperature(0);
  request.mutable_sampling()->set_repetition_penalty(1);
  request.mutable_stopping()->set_max_new_tokens(max_new_tokens);
  request.mutable_stopping()->set_ignore_eos(true);
  request.mutable_output()->set_token_ids(true);
  return request;
}

}  // namespace phyllo
