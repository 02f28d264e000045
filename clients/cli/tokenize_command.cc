#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/commands.h"
#include "clients/cli/inputs/prompt_text.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/text_table.h"

namespace phyllo {
namespace {

template <typename Response>
int FailCall(const absl::StatusOr<Response>& response, bool json, Session& session,
             Terminal& terminal) {
  const absl::Status status = session.Explain(response.status());
  return Fail(status, ExitCodeOf(status), json, terminal);
}

int TokenizeText(const TokenizeOptions& options, const std::string& text, Session& session,
                 Terminal& terminal) {
  gateway::v1::TokenizeRequest request;
  request.set_text(text);
  request.set_add_special_tokens(options.add_special_tokens);
  request.set_parse_special_tokens(options.special_tokens);
  request.set_with_tokens(true);
  const absl::StatusOr<gateway::v1::TokenizeResponse> response = session.client().Tokenize(request);
  if (!response.ok()) return FailCall(response, options.json, session, terminal);
  if (options.json) {
    terminal.out << DumpJson(ToJson(*response)) << std::endl;
    return kExitOk;
  }
  // One token a line: its id, and its bytes with those that are not printable as \ooo.
  for (int i = 0; i < response->token_ids_size(); ++i) {
    terminal.out << response->token_ids(i);
    if (i < response->tokens_size())
      terminal.out << "\t" << absl::Utf8SafeCEscape(response->tokens(i));
    terminal.out << "\n";
  }
  terminal.out << std::flush;
  return kExitOk;
}

int DetokenizeIds(const TokenizeOptions& options, Session& session, Terminal& terminal) {
  gateway::v1::DetokenizeRequest request;
  request.mutable_token_ids()->Add(options.ids.begin(), options.ids.end());
  request.set_skip_special_tokens(!options.special_tokens);
  const absl::StatusOr<gateway::v1::DetokenizeResponse> response =
      session.client().Detokenize(request);
  if (!response.ok()) return FailCall(response, options.json, session, terminal);
  terminal.out << (options.json ? DumpJson(ToJson(*response)) : response->text()) << std::endl;
  return kExitOk;
}

}  // namespace

int TokenizeCommand(const TokenizeOptions& options, Terminal& terminal, Interrupts& interrupts) {
  const std::string text = options.detokenize ? "" : ReadTextArgument(options.text, terminal);
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.target, options.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  return options.detokenize ? DetokenizeIds(options, *session, terminal)
                            : TokenizeText(options, text, *session, terminal);
}

}  // namespace phyllo
