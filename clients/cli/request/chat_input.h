// What a person types in a chat.
#ifndef PHYLLO_CLIENTS_CLI_REQUEST_CHAT_INPUT_H_
#define PHYLLO_CLIENTS_CLI_REQUEST_CHAT_INPUT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace phyllo {

// A turn or a /command.
struct ChatEntry {
  std::string command;  // without the slash; empty: a turn
  std::string text;     // the turn, or what follows the command
};

// Puts lines together. A line that begins with """ opens a turn that goes on over further lines
// until one ends with """. A line that begins with / is a command, and one that begins with // a
// turn that begins with /. Thread-compatible.
class ChatInput {
 public:
  // Takes the next line; an entry if it completes one. A blank line outside of """ completes
  // nothing.
  std::optional<ChatEntry> Add(absl::string_view line);
  // Whether the next line goes on with a turn.
  bool is_open() const { return open_; }
  // Drops an open turn.
  void Reset();

 private:
  bool open_ = false;
  std::string text_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_REQUEST_CHAT_INPUT_H_
