#include "services/gateway/lookups/tokenizer_calls.h"

#include <utility>

#include "absl/status/statusor.h"
#include "services/gateway/lookups/model_listing.h"

namespace phyllo {
namespace {

// `wire` is one of the three requests. The permit is to be kept until the call ends.
template <typename Request>
absl::StatusOr<AdmissionPermit> Admit(const Request& wire, const BackendSet& backends,
                                      Admission& admission) {
  AdmissionPermit permit = admission.AdmitLookup();
  PHYLLO_RETURN_IF_ERROR(permit.AddRequestBytes(TokenizerCalls::kCallBytes +
                                                static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_RETURN_IF_ERROR(CheckServedModel(backends.Snapshot(), wire.has_model(), wire.model()));
  return permit;
}

}  // namespace

Task<absl::Status> TokenizerCalls::Tokenize(const gateway::v1::TokenizeRequest& wire,
                                            const ParentCall& parent,
                                            gateway::v1::TokenizeResponse& response) {
  PHYLLO_CO_ASSIGN_OR_RETURN(const AdmissionPermit permit, Admit(wire, backends_, admission_));
  tokenizer::v1::EncodeRequest encode;
  encode.set_text(wire.text());
  if (wire.has_add_special_tokens()) encode.set_add_special_tokens(wire.add_special_tokens());
  if (wire.has_parse_special_tokens()) encode.set_parse_special_tokens(wire.parse_special_tokens());
  tokenizer::v1::EncodeResponse encoded;
  PHYLLO_CO_RETURN_IF_ERROR(co_await backends_.CallTokenizer(
      nullptr, parent, &TokenizerMethods::Encode, encode, encoded));
  response.mutable_token_ids()->Swap(encoded.mutable_token_ids());
  if (!wire.with_tokens()) co_return absl::OkStatus();
  tokenizer::v1::DecodeRequest decode;
  *decode.mutable_token_ids() = response.token_ids();
  tokenizer::v1::DecodeResponse decoded;
  PHYLLO_CO_RETURN_IF_ERROR(co_await backends_.CallTokenizer(
      nullptr, parent, &TokenizerMethods::Decode, decode, decoded));
  response.mutable_tokens()->Swap(decoded.mutable_tokens());
  co_return absl::OkStatus();
}

Task<absl::Status> TokenizerCalls::Detokenize(const gateway::v1::DetokenizeRequest& wire,
                                              const ParentCall& parent,
                                              gateway::v1::DetokenizeResponse& response) {
  PHYLLO_CO_ASSIGN_OR_RETURN(const AdmissionPermit permit, Admit(wire, backends_, admission_));
  tokenizer::v1::DecodeRequest decode;
  *decode.mutable_token_ids() = wire.token_ids();
  if (wire.has_skip_special_tokens()) decode.set_skip_special_tokens(wire.skip_special_tokens());
  tokenizer::v1::DecodeResponse decoded;
  PHYLLO_CO_RETURN_IF_ERROR(co_await backends_.CallTokenizer(
      nullptr, parent, &TokenizerMethods::Decode, decode, decoded));
  response.set_text(std::move(*decoded.mutable_text()));
  co_return absl::OkStatus();
}

Task<absl::Status> TokenizerCalls::RenderChat(const gateway::v1::RenderChatRequest& wire,
                                              const ParentCall& parent,
                                              gateway::v1::RenderChatResponse& response) {
  PHYLLO_CO_ASSIGN_OR_RETURN(const AdmissionPermit permit, Admit(wire, backends_, admission_));
  tokenizer::v1::RenderChatRequest render;
  *render.mutable_chat() = wire.chat();
  tokenizer::v1::RenderChatResponse rendered;
  PHYLLO_CO_RETURN_IF_ERROR(co_await backends_.CallTokenizer(
      nullptr, parent, &TokenizerMethods::RenderChat, render, rendered));
  response.set_text(std::move(*rendered.mutable_text()));
  response.mutable_token_ids()->Swap(rendered.mutable_token_ids());
  co_return absl::OkStatus();
}

}  // namespace phyllo
