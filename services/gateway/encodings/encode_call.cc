#include "services/gateway/encodings/encode_call.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"
#include "services/gateway/async/client_calls.h"
#include "services/gateway/encodings/concurrently.h"
#include "services/gateway/prompt_rows.h"
#include "services/gateway/requests/parameter_checks.h"
#include "services/gateway/requests/prompt.h"

namespace phyllo {
namespace {

using transformer::v1::EncodeFinished;
using transformer::v1::EncodeRequest;
using transformer::v1::EncodeResponse;
using transformer::v1::EncodeStart;

// The status with the input's name before its message. Those that are not about the input, such as
// a service that is down, stay as they are.
absl::Status NamedInput(const std::string& field, const absl::Status& status) {
  if (status.code() != absl::StatusCode::kInvalidArgument || GetInvalidField(status) == field)
    return status;
  absl::Status named(status.code(), absl::StrCat(field, ": ", status.message()));
  status.ForEachPayload([&named](absl::string_view type_url, const absl::Cord& payload) {
    named.SetPayload(type_url, payload);
  });
  return named;
}

absl::Status CheckLength(const std::string& field, int64_t token_count, int64_t limit) {
  if (token_count == 0) return InvalidField(field, "has no tokens");
  if (token_count <= limit) return absl::OkStatus();
  return WithReason(
      InvalidField(field, absl::StrCat("has ", token_count, " tokens; at most ", limit)),
      {"PROMPT_TOO_LONG",
       {{"needed_token_count", absl::StrCat(token_count)},
        {"available_token_count", absl::StrCat(limit)}}});
}

// One place for each further input under way, as far as there are any.
std::vector<AdmissionPermit> TakePlaces(Admission& admission, int64_t input_count) {
  std::vector<AdmissionPermit> places;
  const int64_t wanted = std::min<int64_t>(input_count, kMaxConcurrentInputs) - 1;
  for (int64_t i = 0; i < wanted; ++i) {
    absl::StatusOr<AdmissionPermit> place = admission.AdmitRequest();
    if (!place.ok()) break;
    places.push_back(*std::move(place));
  }
  return places;
}

}  // namespace

std::string EncodeInputs::FieldName(int64_t index) const {
  return absl::StrCat(texts.empty() ? "token_ids[" : "texts[", index, "]");
}

absl::Status ValidateEncodeInputs(const EncodeInputs& inputs) {
  if (inputs.texts.empty() == inputs.token_ids.empty())
    return InvalidField("texts", "or token_ids is required: one of them, not both");
  if (inputs.count() > kMaxEncodeInputs) {
    return InvalidField(
        inputs.texts.empty() ? "token_ids" : "texts",
        absl::StrCat("has ", inputs.count(), " inputs; at most ", kMaxEncodeInputs));
  }
  if (inputs.context.has_adapter()) return InvalidField("context.adapter", "is not supported yet");
  return CheckContext(inputs.context);
}

EncodeCall::EncodeCall(BackendSet& backends, Admission& admission, TransformerLease& lease,
                       const ParentCall& parent)
    : backends_(backends), admission_(admission), lease_(lease), parent_(parent) {}

Task<absl::StatusOr<std::vector<EncodeFinished>>> EncodeCall::Run(const EncodeInputs& inputs,
                                                                  common::v1::Pooling pooling,
                                                                  AdmissionPermit& permit) {
  const std::vector<AdmissionPermit> places = TakePlaces(admission_, inputs.count());
  const int worker_count = static_cast<int>(places.size()) + 1;
  std::vector<std::vector<int32_t>> token_ids(inputs.count());
  const auto tokenize = [&](int64_t index) -> Task<absl::Status> {
    PHYLLO_CO_ASSIGN_OR_RETURN(token_ids[index], co_await Tokenize(inputs, index));
    co_return absl::OkStatus();
  };
  PHYLLO_CO_RETURN_IF_ERROR(co_await ForEachConcurrently(inputs.count(), worker_count, tokenize));
  int64_t token_count = 0;
  for (const std::vector<int32_t>& ids : token_ids) token_count += static_cast<int64_t>(ids.size());
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddTokens(token_count));
  lease_.SetTokens(token_count);

  std::vector<EncodeFinished> outputs(inputs.count());
  std::atomic<bool> transformer_is_gone = false;
  const auto encode = [&](int64_t index) -> Task<absl::Status> {
    EncodeStart start;
    start.mutable_token_ids()->Add(token_ids[index].begin(), token_ids[index].end());
    start.set_pooling(pooling);
    *start.mutable_context() = inputs.context;
    bool is_gone = false;
    absl::StatusOr<EncodeFinished> output = co_await Encode(start, token_ids[index], is_gone);
    if (is_gone) transformer_is_gone = true;
    if (!output.ok()) co_return NamedInput(inputs.FieldName(index), output.status());
    outputs[index] = *std::move(output);
    co_return absl::OkStatus();
  };
  const absl::Status status = co_await ForEachConcurrently(inputs.count(), worker_count, encode);
  if (transformer_is_gone) lease_.MarkUnavailable();
  if (!status.ok()) co_return status;
  co_return outputs;
}

Task<absl::StatusOr<std::vector<int32_t>>> EncodeCall::Tokenize(const EncodeInputs& inputs,
                                                                int64_t index) {
  const std::string field = inputs.FieldName(index);
  std::vector<int32_t> token_ids;
  if (inputs.texts.empty()) {
    const auto& ids = inputs.token_ids[static_cast<int>(index)].ids();
    PHYLLO_CO_RETURN_IF_ERROR(CheckTokenIds(field, ids, lease_.info().shape().vocab_size()));
    token_ids.assign(ids.begin(), ids.end());
  } else {
    absl::StatusOr<std::vector<int32_t>> encoded =
        co_await EncodeText(inputs.texts[static_cast<int>(index)], inputs.add_special_tokens,
                            lease_.state(), parent_, backends_);
    if (!encoded.ok()) co_return NamedInput(field, encoded.status());
    token_ids = *std::move(encoded);
  }
  PHYLLO_CO_RETURN_IF_ERROR(CheckLength(field, static_cast<int64_t>(token_ids.size()),
                                        lease_.info().max_sequence_length()));
  co_return token_ids;
}

Task<absl::StatusOr<EncodeFinished>> EncodeCall::Encode(const EncodeStart& start,
                                                        const std::vector<int32_t>& token_ids,
                                                        bool& transformer_is_gone) {
  PromptRows rows(backends_, lease_.state(), parent_, token_ids);
  BidiCall<EncodeRequest, EncodeResponse> call(
      lease_.calls(), parent_,
      [this](auto* context, auto* reactor) { lease_.stub().async()->Encode(context, reactor); });
  EncodeRequest request;
  *request.mutable_start() = start;
  co_await call.Write(request);  // a failure shows in the next Read

  absl::StatusOr<EncodeFinished> output =
      absl::InternalError("the transformer ended the stream without a final message");
  EncodeResponse event;
  while (co_await call.Read(event)) {
    if (event.has_finished()) output = std::move(*event.mutable_finished());
    if (event.has_need()) PHYLLO_CO_RETURN_IF_ERROR(co_await rows.Answer(event.need(), call));
  }
  const absl::Status ended = FromGrpcStatus(co_await call.Finish());
  transformer_is_gone = absl::IsUnavailable(ended);
  PHYLLO_CO_RETURN_IF_ERROR(BackendCallStatus(BackendKind::kTransformer, ended));
  co_return output;
}

}  // namespace phyllo
