// The smallest useful client: streams the continuation of a text.
//   example ADDRESS PROMPT
#include <iostream>
#include <memory>

#include "clients/cpp/client.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: example ADDRESS PROMPT\n";
    return 2;
  }
  const absl::StatusOr<std::unique_ptr<phyllo::Client>> client = phyllo::Client::Connect(argv[1]);
  if (!client.ok()) {
    std::cerr << client.status().message() << "\n";
    return 1;
  }
  phyllo::gateway::v1::GenerateRequest request;
  request.set_text(argv[2]);
  request.mutable_sampling()->set_temperature(0);
  const auto answer =
      (*client)->Generate(request, {}, [](const phyllo::gateway::v1::GenerateResponse& message) {
        std::cout << message.delta().text() << std::flush;
      });
  std::cout << "\n";
  if (!answer.ok()) {
    std::cerr << answer.status().message() << "\n";
    return 1;
  }
  for (const auto& choice : answer->choices())
    std::cerr << choice.finished().usage().generated_token_count() << " tokens\n";
  return 0;
}
