// The state of a chat: turns so far and the parameters of the next answer.
#ifndef PHYLLO_CLIENTS_CLI_REQUEST_CONVERSATION_H_
#define PHYLLO_CLIENTS_CLI_REQUEST_CONVERSATION_H_

#include <string>

#include "absl/status/status.h"
#include "phyllo/common/v1/chat.pb.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Thread-compatible.
class Conversation {
 public:
  // `parameters` has no prompt. An empty `system` means none.
  Conversation(std::string system, gateway::v1::GenerateRequest parameters);

  // The request that asks for the answer to a further turn of the user, which is not yet part of
  // the conversation.
  gateway::v1::GenerateRequest Ask(const std::string& text) const;
  // The user's turn and the answer become part of it.
  void AddExchange(const std::string& text, const std::string& answer);
  // Forgets all turns but the system's.
  void Reset();
  // Replaces the system turn; empty: none.
  void SetSystem(const std::string& system);

  gateway::v1::GenerateRequest& parameters() { return parameters_; }
  const common::v1::Chat& turns() const { return turns_; }

  // Writes the turns to a file as JSON: {"messages": [{"role": ..., "content": ...}]}.
  // PERMISSION_DENIED if it cannot be written.
  absl::Status Save(const std::string& path) const;
  // Replaces the turns by those of such a file. NOT_FOUND if it cannot be read, INVALID_ARGUMENT if
  // it is something else.
  absl::Status Load(const std::string& path);

 private:
  gateway::v1::GenerateRequest parameters_;
  common::v1::Chat turns_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_REQUEST_CONVERSATION_H_
