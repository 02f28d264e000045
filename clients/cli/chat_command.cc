#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/answer.h"
#include "clients/cli/commands.h"
#include "clients/cli/request/chat_input.h"
#include "clients/cli/request/conversation.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/request/request_settings.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {
namespace {

constexpr char kHelp[] = R"(/help               this list
/system [TEXT]      sets the system turn; without TEXT there is none
/set [NAME VALUE]   sets a parameter, such as /set temperature 0.6; shows those that are set
/unset NAME         goes back to the model's default
/reset              forgets the conversation
/save FILE          writes the conversation as JSON
/load FILE          goes on with a saved one
/exit               ends (so does Ctrl-D)
"""                 begins a turn of several lines, and ends it
//TEXT              a turn that begins with a slash
Ctrl-C              stops an answer; what was written of it stays part of the conversation
)";

// One chat on one terminal.
class ChatLoop {
 public:
  ChatLoop(const ChatOptions& options, Session& session, Terminal& terminal, Interrupts& interrupts)
      : json_(options.json),
        session_(session),
        terminal_(terminal),
        interrupts_(interrupts),
        conversation_(options.system, options.request) {}

  // Returns main's exit code.
  int Loop(const ReadLineFunction& read_line) {
    const bool prompts = terminal_.in_is_terminal && terminal_.err_is_terminal;
    if (prompts) terminal_.err << "/help lists what can be typed beside text.\n";
    ChatInput input;
    std::string line;
    while (!ended_) {
      if (prompts) terminal_.err << (input.is_open() ? "... " : ">>> ") << std::flush;
      const LineReader::Result result = read_line(line);
      if (result == LineReader::Result::kEnd) break;
      if (result == LineReader::Result::kInterrupted) {
        if (interrupts_.terminated()) return kExitInterrupted;
        interrupts_.Reset();
        input.Reset();
        if (prompts)
          terminal_.err << "\nCtrl-C stops an answer; /exit or Ctrl-D ends the chat." << std::endl;
        continue;
      }
      const std::optional<ChatEntry> entry = input.Add(line);
      if (entry.has_value()) Handle(*entry);
    }
    if (prompts && !ended_) terminal_.err << std::endl;
    return exit_code_;
  }

 private:
  void Handle(const ChatEntry& entry) {
    if (entry.command.empty()) {
      AnswerTurn(entry.text);
      return;
    }
    const absl::Status status = HandleCommand(entry);
    if (!status.ok()) terminal_.err << status.message() << std::endl;
  }

  absl::Status HandleCommand(const ChatEntry& entry) {
    if (entry.command == "help" || entry.command == "?") return Say(kHelp);
    if (entry.command == "exit" || entry.command == "bye" || entry.command == "quit") {
      ended_ = true;
      return absl::OkStatus();
    }
    if (entry.command == "reset") {
      conversation_.Reset();
      return Say("The conversation is forgotten.\n");
    }
    if (entry.command == "system") {
      conversation_.SetSystem(entry.text);
      return Say(entry.text.empty() ? "There is no system turn now.\n"
                                    : "The system turn is set.\n");
    }
    if (entry.command == "set") return Set(entry.text);
    if (entry.command == "unset") return ClearRequestField(entry.text, conversation_.parameters());
    if (entry.command == "save" || entry.command == "load") {
      if (entry.text.empty())
        return absl::InvalidArgumentError(absl::StrCat("/", entry.command, " needs a file"));
      return entry.command == "save" ? conversation_.Save(entry.text)
                                     : conversation_.Load(entry.text);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("there is no /", entry.command, "; /help lists what there is"));
  }

  absl::Status Set(const std::string& text) {
    if (text.empty()) {
      for (const std::string& line : DescribeRequestSettings(conversation_.parameters()))
        terminal_.err << line << "\n";
      return Say("");
    }
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(text, absl::MaxSplits(absl::ByAnyChar(" \t="), 1));
    return SetRequestField(parts.first, parts.second, conversation_.parameters());
  }

  absl::Status Say(absl::string_view text) {
    terminal_.err << text << std::flush;
    return absl::OkStatus();
  }

  void AnswerTurn(const std::string& text) {
    gateway::v1::GenerateRequest request = conversation_.Ask(text);
    Answer answer;
    if (json_) {
      answer = Generate(session_.client(), request, {}, interrupts_,
                        [](const gateway::v1::GenerateResponse&) {});
      if (answer.status.ok()) terminal_.out << DumpJson(ToJson(answer.response)) << std::endl;
    } else {
      if (terminal_.err_is_terminal) request.mutable_output()->set_prefill_progress(true);
      answer = GenerateToTerminal(session_.client(), request, {}, interrupts_, terminal_);
    }
    // An interrupted answer counts; one that failed is as if it had not been asked for.
    if (answer.status.ok() || interrupts_.interrupted()) {
      const bool is_empty = answer.response.choices().empty();
      conversation_.AddExchange(text, is_empty ? "" : answer.response.choices(0).answer().text());
    } else {
      const absl::Status status = session_.Explain(answer.status);
      exit_code_ = Fail(status, ExitCodeOf(status), json_, terminal_);
      // A service that is gone does not come back.
      ended_ = status != answer.status;
    }
    if (interrupts_.terminated()) ended_ = true;
    interrupts_.Reset();
  }

  const bool json_;
  Session& session_;
  Terminal& terminal_;
  Interrupts& interrupts_;
  Conversation conversation_;
  bool ended_ = false;
  int exit_code_ = kExitOk;
};

}  // namespace

int ChatCommand(const ChatOptions& options, const ReadLineFunction& read_line, Terminal& terminal,
                Interrupts& interrupts) {
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.target, options.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  return ChatLoop(options, *session, terminal, interrupts).Loop(read_line);
}

}  // namespace phyllo
