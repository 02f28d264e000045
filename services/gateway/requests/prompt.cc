#include "services/gateway/requests/prompt.h"

#include <array>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "model/sampling/sampling_parameters.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using gateway::v1::GenerateRequest;
// What the calls below have in common.
struct Caller {
  const BackendState& partner;
  const ParentCall& parent;
  BackendSet& backends;
};

Task<absl::StatusOr<std::vector<int32_t>>> Encode(const tokenizer::v1::EncodeRequest& request,
                                                  const Caller& caller) {
  tokenizer::v1::EncodeResponse response;
  PHYLLO_CO_RETURN_IF_ERROR(co_await caller.backends.CallTokenizer(
      &caller.partner, caller.parent, &TokenizerMethods::Encode, request, response));
  co_return std::vector<int32_t>(response.token_ids().begin(), response.token_ids().end());
}

Task<absl::StatusOr<Prompt>> EncodePrompt(const GenerateRequest& wire, const Caller& caller) {
  tokenizer::v1::EncodeRequest request;
  request.set_text(wire.text());
  if (wire.has_add_special_tokens()) request.set_add_special_tokens(wire.add_special_tokens());
  if (wire.has_parse_special_tokens())
    request.set_parse_special_tokens(wire.parse_special_tokens());
  Prompt prompt;
  PHYLLO_CO_ASSIGN_OR_RETURN(prompt.token_ids, co_await Encode(request, caller));
  prompt.text = wire.text();
  co_return prompt;
}

Task<absl::StatusOr<Prompt>> RenderPrompt(const GenerateRequest& wire, const Caller& caller) {
  tokenizer::v1::RenderChatRequest request;
  *request.mutable_chat() = wire.chat();
  if (wire.has_parse_special_tokens())
    request.set_parse_special_tokens(wire.parse_special_tokens());
  tokenizer::v1::RenderChatResponse response;
  PHYLLO_CO_RETURN_IF_ERROR(co_await caller.backends.CallTokenizer(
      &caller.partner, caller.parent, &TokenizerMethods::RenderChat, request, response));
  Prompt prompt;
  prompt.token_ids.assign(response.token_ids().begin(), response.token_ids().end());
  prompt.text = std::move(*response.mutable_text());
  co_return prompt;
}

Task<absl::StatusOr<Prompt>> TakePrompt(const GenerateRequest& wire, const Caller& caller) {
  Prompt prompt;
  prompt.token_ids.assign(wire.token_ids().ids().begin(), wire.token_ids().ids().end());
  if (!wire.output().echo_prompt()) co_return prompt;
  tokenizer::v1::DecodeRequest request;
  *request.mutable_token_ids() = wire.token_ids().ids();
  request.set_skip_special_tokens(!wire.output().special_tokens());
  tokenizer::v1::DecodeResponse response;
  PHYLLO_CO_RETURN_IF_ERROR(co_await caller.backends.CallTokenizer(
      &caller.partner, caller.parent, &TokenizerMethods::Decode, request, response));
  prompt.text = std::move(*response.mutable_text());
  co_return prompt;
}

}  // namespace

Task<absl::StatusOr<Prompt>> TokenizePrompt(const GenerationRequest& request,
                                            const BackendState& partner, const ParentCall& parent,
                                            BackendSet& backends) {
  const Caller caller{partner, parent, backends};
  switch (request.wire->prompt_case()) {
    case GenerateRequest::kText:
      co_return co_await EncodePrompt(*request.wire, caller);
    case GenerateRequest::kChat:
      co_return co_await RenderPrompt(*request.wire, caller);
    case GenerateRequest::kHiddenStates: {
      Prompt rows;
      rows.token_ids.assign(request.wire->hidden_states().shape(0), -1);
      co_return rows;
    }
    default:
      co_return co_await TakePrompt(*request.wire, caller);
  }
}

Task<absl::Status> BanTexts(const BackendState& partner, const ParentCall& parent,
                            BackendSet& backends, GenerationRequest& request) {
  std::set<std::vector<int32_t>> seen;
  for (int i = 0; i < request.wire->banned_texts_size(); ++i) {
    const std::string& text = request.wire->banned_texts(i);
    const std::array<std::string, 2> forms = {text, absl::StrCat(" ", text)};
    for (const std::string& form : forms) {
      PHYLLO_CO_ASSIGN_OR_RETURN(const std::vector<int32_t> token_ids,
                                 co_await EncodeText(form, false, partner, parent, backends));
      if (static_cast<int64_t>(token_ids.size()) > kMaxBannedSequenceLength) {
        co_return InvalidField(
            absl::StrCat("banned_texts[", i, "]"),
            absl::StrCat("has ", token_ids.size(), " tokens; at most ", kMaxBannedSequenceLength));
      }
      if (token_ids.empty() || !seen.insert(token_ids).second) continue;
      request.sampling.add_banned_token_sequences()->mutable_token_ids()->Add(token_ids.begin(),
                                                                              token_ids.end());
    }
  }
  co_return absl::OkStatus();
}

Task<absl::StatusOr<std::vector<int32_t>>> EncodeText(const std::string& text,
                                                      bool add_special_tokens,
                                                      const BackendState& partner,
                                                      const ParentCall& parent,
                                                      BackendSet& backends) {
  tokenizer::v1::EncodeRequest request;
  request.set_text(text);
  request.set_add_special_tokens(add_special_tokens);
  const Caller caller{partner, parent, backends};
  co_return co_await Encode(request, caller);
}

}  // namespace phyllo
