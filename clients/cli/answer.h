// One generation on the terminal.
#ifndef PHYLLO_CLIENTS_CLI_ANSWER_H_
#define PHYLLO_CLIENTS_CLI_ANSWER_H_

#include <string>

#include "absl/status/status.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"
#include "clients/cpp/client.h"
#include "phyllo/gateway/v1/gateway.pb.h"

namespace phyllo {

// What came of a generation: all that arrived, and how it ended.
struct Answer {
  gateway::v1::GenerateUnaryResponse response;
  absl::Status status;  // CANCELLED after an interrupt
};

// Generates without output; an interrupt cancels. `observer` sees every message.
Answer Generate(Client& client, const gateway::v1::GenerateRequest& request,
                const CallOptions& options, Interrupts& interrupts, GenerateObserver observer);

// Generates and writes the text to `out` as it comes (several choices: each when all are there), a
// newline at its end; progress of the prefill, and at last the speed, to `err` if that is a
// terminal. Errors are the caller's to report.
Answer GenerateToTerminal(Client& client, const gateway::v1::GenerateRequest& request,
                          const CallOptions& options, Interrupts& interrupts, Terminal& terminal);

// "[57 tokens, 140.2 tokens/s; prompt 12 tokens, 0.05 s to the first; end of sequence; seed 7]".
std::string DescribeSpeed(const gateway::v1::Finished& finished);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_ANSWER_H_
