// A program with the flags of a service, for tests of the launcher. It serves grpc.health.v1 and
// nothing else, and does what the file
// "<service>.script" of the model folder says, if there is one:
//   fail        writes two lines of log and exits with 3
//   never       is never SERVING
//   stubborn    ignores SIGTERM
//   loading     says that half of its weights are packed, and is never SERVING
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"

namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class FakeHealth final : public grpc::health::v1::Health::Service {
 public:
  explicit FakeHealth(bool serving)
      : status_(serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING) {}

  // Tells the state, which never changes, and holds the stream open until the process ends.
  grpc::Status Watch(grpc::ServerContext*, const HealthCheckRequest*,
                     grpc::ServerWriter<HealthCheckResponse>* writer) override {
    HealthCheckResponse response;
    response.set_status(status_);
    writer->Write(response);
    absl::Notification().WaitForNotification();
    return grpc::Status::OK;
  }

 private:
  const HealthCheckResponse::ServingStatus status_;
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    flags[argument.substr(0, argument.find('='))] = argument.substr(argument.find('=') + 1);
    std::cerr << "flag " << argument << "\n";
  }
  const std::string port_file = flags["--port_file"];
  const size_t name_begin = port_file.rfind('/') + 1;
  const std::string service = port_file.substr(name_begin, port_file.rfind('.') - name_begin);
  std::string script;
  std::ifstream(flags["--model"] + "/" + service + ".script") >> script;
  if (script == "fail") {
    std::cerr << "reading weights\nmodel.safetensors is truncated\n";
    return 3;
  }
  if (script == "stubborn") signal(SIGTERM, SIG_IGN);

  if (script == "loading") {
    std::string line = "packing 50 100";
    line.resize(95, ' ');
    std::ofstream(flags["--progress_file"]) << line << "\n";
  }

  FakeHealth health(script != "never" && script != "loading");
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(flags["--listen"], grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&health);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 4;
  const std::string listen = flags["--listen"];
  const bool is_socket = listen.rfind("unix:", 0) == 0;
  std::ofstream(port_file + ".tmp")
      << "listen "
      << (is_socket ? listen : listen.substr(0, listen.rfind(':') + 1) + std::to_string(port))
      << "\n";
  std::rename((port_file + ".tmp").c_str(), port_file.c_str());
  while (true) pause();
}
