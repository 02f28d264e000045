// One request, one answer: what `run` and `generate` do once they have a session.
#ifndef PHYLLO_CLIENTS_CLI_SINGLE_ANSWER_H_
#define PHYLLO_CLIENTS_CLI_SINGLE_ANSWER_H_

#include "clients/cli/command_line.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Streams the answer's text to the terminal, or writes the collected GenerateUnaryResponse as JSON
// if `options.json`. Reports errors; returns main's exit code.
int AnswerOnce(Session& session, gateway::v1::GenerateRequest request, const RunOptions& options,
               Terminal& terminal, Interrupts& interrupts);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_SINGLE_ANSWER_H_
