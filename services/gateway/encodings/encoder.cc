#include "services/gateway/encodings/encoder.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/heads/pooling.h"
#include "services/common/message_limits.h"
#include "services/common/status_bridge.h"
#include "services/gateway/encodings/encode_call.h"
#include "services/gateway/encodings/label_scores.h"
#include "services/gateway/requests/generation_request.h"
#include "services/gateway/requests/parameter_checks.h"

namespace phyllo {
namespace {

using gateway::v1::ClassifyRequest;
using gateway::v1::EmbedRequest;
using transformer::v1::EncodeFinished;
using transformer::v1::GetInfoResponse;

// `wire` is an EmbedRequest or a ClassifyRequest.
template <typename Request>
EncodeInputs InputsOf(const Request& wire) {
  return {wire.texts(), wire.token_ids(),
          !wire.has_add_special_tokens() || wire.add_special_tokens(), wire.context()};
}

int64_t DimensionsOf(const EmbedRequest& wire, const GetInfoResponse& model) {
  return wire.has_dimensions() ? wire.dimensions() : model.shape().hidden_size();
}

absl::Status ValidateEmbed(const EmbedRequest& wire, const GetInfoResponse& model) {
  PHYLLO_RETURN_IF_ERROR(CheckModelName(wire.has_model(), wire.model(), model.server().model()));
  PHYLLO_RETURN_IF_ERROR(ValidateEncodeInputs(InputsOf(wire)));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("dimensions", wire.has_dimensions(), wire.dimensions(), 1,
                                      model.shape().hidden_size()));
  if (wire.pooling() == common::v1::POOLING_NONE)
    return InvalidField("pooling", "is POOLING_NONE; here every text has one vector");
  if (!common::v1::Pooling_IsValid(wire.pooling()))
    return InvalidField("pooling", absl::StrCat("is ", static_cast<int>(wire.pooling()),
                                                ", which is none of enum Pooling"));
  // A message has a few bytes beside the floats of each vector.
  constexpr int64_t kBytesBeside = 16;
  const int64_t vector_bytes = DimensionsOf(wire, model) * static_cast<int64_t>(sizeof(float));
  const int64_t max_vectors = (kMaxMessageBytes - 1024) / (vector_bytes + kBytesBeside);
  const int64_t count = InputsOf(wire).count();
  if (count > max_vectors) {
    return InvalidField(wire.texts().empty() ? "token_ids" : "texts",
                        absl::StrCat("has ", count, " inputs, whose vectors of ", vector_bytes,
                                     " bytes exceed a message; at most ", max_vectors));
  }
  return absl::OkStatus();
}

absl::Status ValidateClassify(const ClassifyRequest& wire, const GetInfoResponse& model) {
  PHYLLO_RETURN_IF_ERROR(CheckModelName(wire.has_model(), wire.model(), model.server().model()));
  if (model.head() != common::v1::HEAD_KIND_LABELS) {
    const bool lm = model.head() == common::v1::HEAD_KIND_LM;
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("model \"", model.server().model(), "\" has ",
                                       lm ? "an LM head" : "no head: it gives embeddings",
                                       ", no label head to classify with")),
                      {"NO_LABEL_HEAD", {{"model", model.server().model()}}});
  }
  return ValidateEncodeInputs(InputsOf(wire));
}

// The floats of an output that must have `count` of them.
absl::StatusOr<std::vector<float>> FloatsOf(const common::v1::Tensor& tensor, int64_t count) {
  const std::string& data = tensor.data();
  if (tensor.data_type() != common::v1::DATA_TYPE_F32 ||
      static_cast<int64_t>(data.size()) != count * static_cast<int64_t>(sizeof(float))) {
    return absl::InternalError(
        absl::StrCat("the transformer gave ", data.size(), " bytes instead of ", count, " floats"));
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), data.data(), data.size());
  return values;
}

void AddUsage(const common::v1::Usage& more, common::v1::Usage& sum) {
  sum.set_prompt_token_count(sum.prompt_token_count() + more.prompt_token_count());
  sum.set_cached_prompt_token_count(sum.cached_prompt_token_count() +
                                    more.cached_prompt_token_count());
  sum.set_preemption_count(sum.preemption_count() + more.preemption_count());
}

// Calls on behalf of a client that has left fail in many ways; this is why.
absl::Status WhyEnded(const absl::Status& status, const ParentCall& parent) {
  return parent.is_cancelled() ? absl::CancelledError(
                                     "the client cancelled, left, or its deadline "
                                     "passed")
                               : status;
}

}  // namespace

Task<absl::Status> Encoder::Embed(const EmbedRequest& wire, const ParentCall& parent,
                                  gateway::v1::EmbedResponse& response) {
  PHYLLO_CO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequestBytes(static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_CO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  const GetInfoResponse& model = lease.info();
  PHYLLO_CO_RETURN_IF_ERROR(ValidateEmbed(wire, model));
  // Named, so that a model with a label head gives hidden states as well.
  const common::v1::Pooling pooling =
      wire.pooling() == common::v1::POOLING_UNSPECIFIED ? model.default_pooling() : wire.pooling();
  const EncodeInputs inputs = InputsOf(wire);
  EncodeCall call(backends_, admission_, lease, parent);
  const absl::StatusOr<std::vector<EncodeFinished>> outputs =
      co_await call.Run(inputs, pooling, permit);
  if (!outputs.ok()) co_return WhyEnded(outputs.status(), parent);
  response.set_pooling(pooling);
  const bool normalize = !wire.has_normalize() || wire.normalize();
  for (const EncodeFinished& output : *outputs) {
    PHYLLO_CO_ASSIGN_OR_RETURN(std::vector<float> vector,
                               FloatsOf(output.output(), model.shape().hidden_size()));
    TruncateAndNormalize(DimensionsOf(wire, model), normalize, vector);
    response.add_vectors()->mutable_values()->Add(vector.begin(), vector.end());
    AddUsage(output.usage(), *response.mutable_usage());
  }
  co_return absl::OkStatus();
}

Task<absl::Status> Encoder::Classify(const ClassifyRequest& wire, const ParentCall& parent,
                                     gateway::v1::ClassifyResponse& response) {
  PHYLLO_CO_ASSIGN_OR_RETURN(AdmissionPermit permit, admission_.AdmitRequest());
  PHYLLO_CO_RETURN_IF_ERROR(permit.AddRequestBytes(static_cast<int64_t>(wire.SpaceUsedLong())));
  PHYLLO_CO_ASSIGN_OR_RETURN(TransformerLease lease, backends_.AcquireTransformer());
  const GetInfoResponse& model = lease.info();
  PHYLLO_CO_RETURN_IF_ERROR(ValidateClassify(wire, model));
  const EncodeInputs inputs = InputsOf(wire);
  EncodeCall call(backends_, admission_, lease, parent);
  const absl::StatusOr<std::vector<EncodeFinished>> outputs =
      co_await call.Run(inputs, common::v1::POOLING_UNSPECIFIED, permit);
  if (!outputs.ok()) co_return WhyEnded(outputs.status(), parent);
  const common::v1::ProblemType problem_type =
      ResolveProblemType(model.problem_type(), model.labels_size());
  response.set_problem_type(problem_type);
  for (const EncodeFinished& output : *outputs) {
    PHYLLO_CO_ASSIGN_OR_RETURN(std::vector<float> scores,
                               FloatsOf(output.output(), model.labels_size()));
    if (!wire.raw_logits()) LogitsToScores(problem_type, absl::MakeSpan(scores));
    gateway::v1::Classification& classification = *response.add_classifications();
    for (int i = 0; i < model.labels_size(); ++i) {
      gateway::v1::LabelScore& score = *classification.add_scores();
      score.set_label(model.labels(i));
      score.set_score(scores[i]);
    }
    AddUsage(output.usage(), *response.mutable_usage());
  }
  co_return absl::OkStatus();
}

}  // namespace phyllo
