#include "services/gateway/requests/prompt.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "model/base/status_macros.h"
#include "model/sampling/sampling_parameters.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
using tokenizer::v1::TokenizerService;

// What the calls below have in common.
struct Caller {
  const BackendState& partner;
  const grpc::ServerContext& parent;
  BackendSet& backends;
};

absl::StatusOr<std::vector<int32_t>> Encode(const tokenizer::v1::EncodeRequest& request,
                                            const Caller& caller) {
  tokenizer::v1::EncodeResponse response;
  PHYLLO_RETURN_IF_ERROR(
      caller.backends.CallTokenizer(&caller.partner, [&](TokenizerService::Stub& stub) {
        const std::unique_ptr<grpc::ClientContext> context =
            grpc::ClientContext::FromServerContext(caller.parent);
        return stub.Encode(context.get(), request, &response);
      }));
  return std::vector<int32_t>(response.token_ids().begin(), response.token_ids().end());
}

absl::StatusOr<Prompt> EncodePrompt(const GenerateRequest& wire, const Caller& caller) {
  tokenizer::v1::EncodeRequest request;
  request.set_text(wire.text());
  if (wire.has_add_special_tokens()) request.set_add_special_tokens(wire.add_special_tokens());
  if (wire.has_parse_special_tokens())
    request.set_parse_special_tokens(wire.parse_special_tokens());
  PHYLLO_ASSIGN_OR_RETURN(std::vector<int32_t> token_ids, Encode(request, caller));
  return Prompt{std::move(token_ids), wire.text()};
}

absl::StatusOr<Prompt> RenderPrompt(const GenerateRequest& wire, const Caller& caller) {
  tokenizer::v1::RenderChatRequest request;
  *request.mutable_chat() = wire.chat();
  if (wire.has_parse_special_tokens())
    request.set_parse_special_tokens(wire.parse_special_tokens());
  tokenizer::v1::RenderChatResponse response;
  PHYLLO_RETURN_IF_ERROR(
      caller.backends.CallTokenizer(&caller.partner, [&](TokenizerService::Stub& stub) {
        const std::unique_ptr<grpc::ClientContext> context =
            grpc::ClientContext::FromServerContext(caller.parent);
        return stub.RenderChat(context.get(), request, &response);
      }));
  return Prompt{{response.token_ids().begin(), response.token_ids().end()},
                std::move(*response.mutable_text())};
}

absl::StatusOr<Prompt> TakePrompt(const GenerateRequest& wire, const Caller& caller) {
  Prompt prompt{{wire.token_ids().ids().begin(), wire.token_ids().ids().end()}, ""};
  if (!wire.output().echo_prompt()) return prompt;
  tokenizer::v1::DecodeRequest request;
  *request.mutable_token_ids() = wire.token_ids().ids();
  request.set_skip_special_tokens(!wire.output().special_tokens());
  tokenizer::v1::DecodeResponse response;
  PHYLLO_RETURN_IF_ERROR(
      caller.backends.CallTokenizer(&caller.partner, [&](TokenizerService::Stub& stub) {
        const std::unique_ptr<grpc::ClientContext> context =
            grpc::ClientContext::FromServerContext(caller.parent);
        return stub.Decode(context.get(), request, &response);
      }));
  prompt.text = std::move(*response.mutable_text());
  return prompt;
}

}  // namespace

absl::StatusOr<Prompt> TokenizePrompt(const GenerationRequest& request, const BackendState& partner,
                                      const grpc::ServerContext& parent, BackendSet& backends) {
  const Caller caller{partner, parent, backends};
  switch (request.wire->prompt_case()) {
    case GenerateRequest::kText:
      return EncodePrompt(*request.wire, caller);
    case GenerateRequest::kChat:
      return RenderPrompt(*request.wire, caller);
    case GenerateRequest::kHiddenStates:
      return Prompt{std::vector<int32_t>(request.wire->hidden_states().shape(0), -1), ""};
    default:
      return TakePrompt(*request.wire, caller);
  }
}

absl::Status BanTexts(const BackendState& partner, const grpc::ServerContext& parent,
                      BackendSet& backends, GenerationRequest& request) {
  std::set<std::vector<int32_t>> seen;
  for (int i = 0; i < request.wire->banned_texts_size(); ++i) {
    const std::string& text = request.wire->banned_texts(i);
    for (const std::string& form : {text, absl::StrCat(" ", text)}) {
      PHYLLO_ASSIGN_OR_RETURN(const std::vector<int32_t> token_ids,
                              EncodeText(form, false, partner, parent, backends));
      if (static_cast<int64_t>(token_ids.size()) > kMaxBannedSequenceLength) {
        return InvalidField(
            absl::StrCat("banned_texts[", i, "]"),
            absl::StrCat("has ", token_ids.size(), " tokens; at most ", kMaxBannedSequenceLength));
      }
      if (token_ids.empty() || !seen.insert(token_ids).second) continue;
      request.sampling.add_banned_token_sequences()->mutable_token_ids()->Add(token_ids.begin(),
                                                                              token_ids.end());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> EncodeText(const std::string& text, bool add_special_tokens,
                                                const BackendState& partner,
                                                const grpc::ServerContext& parent,
                                                BackendSet& backends) {
  tokenizer::v1::EncodeRequest request;
  request.set_text(text);
  request.set_add_special_tokens(add_special_tokens);
  return Encode(request, {partner, parent, backends});
}

}  // namespace phyllo
