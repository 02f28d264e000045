#include "clients/cli/request/conversation.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/request/proto_json.h"

namespace phyllo {
namespace {

constexpr char kSystem[] = "system";

void AddTurn(const std::string& role, const std::string& content, common::v1::Chat& chat) {
  common::v1::ChatMessage& message = *chat.add_messages();
  message.set_role(role);
  message.set_content(content);
}

bool HasSystem(const common::v1::Chat& chat) {
  return chat.messages_size() > 0 && chat.messages(0).role() == kSystem;
}

}  // namespace

Conversation::Conversation(std::string system, gateway::v1::GenerateRequest parameters)
    : parameters_(std::move(parameters)) {
  SetSystem(system);
}

gateway::v1::GenerateRequest Conversation::Ask(const std::string& text) const {
  gateway::v1::GenerateRequest request = parameters_;
  *request.mutable_chat() = turns_;
  AddTurn("user", text, *request.mutable_chat());
  return request;
}

void Conversation::AddExchange(const std::string& text, const std::string& answer) {
  AddTurn("user", text, turns_);
  AddTurn("assistant", answer, turns_);
}

void Conversation::Reset() {
  const std::string system = HasSystem(turns_) ? turns_.messages(0).content() : "";
  turns_.Clear();
  SetSystem(system);
}

void Conversation::SetSystem(const std::string& system) {
  common::v1::Chat changed;
  if (!system.empty()) AddTurn(kSystem, system, changed);
  for (int i = HasSystem(turns_) ? 1 : 0; i < turns_.messages_size(); ++i)
    *changed.add_messages() = turns_.messages(i);
  turns_ = std::move(changed);
}

absl::Status Conversation::Save(const std::string& path) const {
  std::ofstream file(path, std::ios::trunc);
  file << ToJson(turns_).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
       << "\n";
  file.close();
  if (!file) return absl::PermissionDeniedError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

absl::Status Conversation::Load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  common::v1::Chat loaded;
  const absl::Status parsed =
      MergeFromJson(std::string(std::istreambuf_iterator<char>(file), {}), loaded);
  if (!parsed.ok())
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no saved conversation: ", parsed.message()));
  turns_ = std::move(loaded);
  return absl::OkStatus();
}

}  // namespace phyllo
