// The four real binaries with the demo model, or another, for tests.
#ifndef PHYLLO_TESTS_INTEGRATION_RUNNING_SERVICES_H_
#define PHYLLO_TESTS_INTEGRATION_RUNNING_SERVICES_H_

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/launcher/local_services.h"
#include "phyllo/gateway/v1/gateway.grpc.pb.h"

namespace phyllo {

// Flags beyond those that every test uses, by ServiceKind.
using ServiceFlags = std::array<std::vector<std::string>, kServiceKindCount>;

// What a client received of a generation.
struct Answer {
  absl::Status status;
  std::string text;
  std::vector<int32_t> token_ids;  // If they were asked for.
  gateway::v1::Finished finished;
};

// Owns the processes; they end with it. The transformer computes in f32, as the golden answers
// were. Thread-safe but for Kill.
class RunningServices {
 public:
  // Returns when all are SERVING. Of the demo model, unless `model_folder` names another.
  static absl::StatusOr<std::unique_ptr<RunningServices>> Start(
      const ServiceFlags& flags = {}, const std::string& model_folder = "");

  gateway::v1::GatewayService::Stub& stub() { return *stub_; }
  const std::string& gateway_address() const { return address(ServiceKind::kGateway); }
  const std::string& address(ServiceKind kind) const { return services_->address(kind); }
  pid_t pid(ServiceKind kind) const { return services_->pid(kind); }

  Answer Generate(const gateway::v1::GenerateRequest& request,
                  absl::Duration timeout = absl::Minutes(2));
  // The end of a service's log.
  std::string LastLogLines(ServiceKind kind, int line_count) const {
    return services_->LastLogLines(kind, line_count);
  }
  // kill -9; returns when the process is gone.
  void Kill(ServiceKind kind);
  // Ids of `text` without special tokens.
  std::vector<int32_t> Tokenize(const std::string& text);

 private:
  explicit RunningServices(std::unique_ptr<LocalServices> services);

  std::unique_ptr<LocalServices> services_;
  std::unique_ptr<gateway::v1::GatewayService::Stub> stub_;
};

// A case of the demo model's recorded greedy continuations.
struct GoldenCase {
  std::vector<int32_t> input_ids;
  std::vector<int32_t> output_ids;
  std::string output_text;
};

// INVALID_ARGUMENT if the file is not what it should be.
absl::StatusOr<std::vector<GoldenCase>> ReadGoldenCases();

// Greedy, `max_new_tokens` tokens, end-of-sequence ids ignored, ids returned.
gateway::v1::GenerateRequest GreedyRequest(const std::vector<int32_t>& prompt, int max_new_tokens);

}  // namespace phyllo

#endif  // PHYLLO_TESTS_INTEGRATION_RUNNING_SERVICES_H_
