#include "services/gateway/requests/generation_request.h"

#include <algorithm>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/sampling/sampling_parameters.h"
#include "services/common/status_bridge.h"
#include "services/gateway/requests/parameter_checks.h"
#include "services/gateway/requests/prompt_tensor.h"

namespace phyllo {
namespace {

using ProtoSampling = common::v1::SamplingParameters;
using common::v1::StoppingParameters;
using gateway::v1::GenerateRequest;

constexpr int kMaxStopSequences = 16;
constexpr int kMaxBannedTexts = 64;
constexpr size_t kMaxTextBytes = 1024;  // of one of either
constexpr int64_t kMaxPromptLogprobEntries = 1 << 20;
constexpr int32_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// What the contract has and this gateway has not: refused by name, so that nothing is silently
// ignored.
absl::Status CheckOffered(const GenerateRequest& wire) {
  struct NotOffered {
    bool is_set;
    absl::string_view field;
    absl::string_view reason;
  };
  const NotOffered all[] = {
      {wire.has_beam_width(), "beam_width",
       "is not offered: beams change places at every step, so nothing could be streamed before the "
       "end; use best_of"},
      {wire.has_constraint(), "constraint",
       "is not offered: this server has no grammar to mask tokens by"},
      {wire.has_reasoning(), "reasoning",
       "is not offered: switch thinking by chat.template_arguments_json, as the model's template "
       "names it"},
      {wire.context().has_adapter(), "context.adapter",
       "is not offered: this server has no adapters"},
  };
  for (const NotOffered& entry : all) {
    if (entry.is_set) return InvalidField(entry.field, entry.reason);
  }
  return absl::OkStatus();
}

// A prompt of rows has neither ids nor text.
absl::Status CheckHiddenStatesPrompt(const GenerateRequest& wire, int64_t hidden_size) {
  PHYLLO_RETURN_IF_ERROR(CheckPromptRows(wire.hidden_states(), hidden_size));
  if (wire.output().has_prompt_logprobs()) {
    return InvalidField("output.prompt_logprobs",
                        "needs the ids of the prompt, and hidden_states "
                        "have none");
  }
  if (wire.output().echo_prompt())
    return InvalidField("output.echo_prompt",
                        "needs the text of the prompt, and hidden_states have "
                        "none");
  if (wire.truncation() == gateway::v1::TRUNCATION_POLICY_CUT_START ||
      wire.truncation() == gateway::v1::TRUNCATION_POLICY_CUT_END)
    return InvalidField("truncation", "cannot cut hidden_states: they belong to their positions");
  return absl::OkStatus();
}

absl::Status CheckPrompt(const GenerateRequest& wire, const common::v1::ModelShape& shape) {
  switch (wire.prompt_case()) {
    case GenerateRequest::kTokenIds:
      if (wire.token_ids().ids().empty()) return InvalidField("token_ids", "is empty");
      return CheckTokenIds("token_ids", wire.token_ids().ids(), shape.vocab_size());
    case GenerateRequest::kHiddenStates:
      return CheckHiddenStatesPrompt(wire, shape.hidden_size());
    case GenerateRequest::PROMPT_NOT_SET:
      return InvalidField("prompt", "is required: text, chat, token_ids or hidden_states");
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckTexts(absl::string_view field,
                        const google::protobuf::RepeatedPtrField<std::string>& texts,
                        int max_count) {
  if (texts.size() > max_count) {
    return InvalidField(field, absl::StrCat("has ", texts.size(), " values; at most ", max_count));
  }
  for (int i = 0; i < texts.size(); ++i) {
    if (texts[i].empty() || texts[i].size() > kMaxTextBytes) {
      return InvalidField(
          absl::StrCat(field, "[", i, "]"),
          absl::StrCat("has ", texts[i].size(), " bytes; must have 1 to ", kMaxTextBytes));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const GenerateRequest& wire) {
  PHYLLO_RETURN_IF_ERROR(
      CheckInteger("choice_count", wire.has_choice_count(), wire.choice_count(), 1, 128));
  PHYLLO_RETURN_IF_ERROR(CheckInteger("best_of", wire.has_best_of(), wire.best_of(),
                                      std::max(1, wire.choice_count()), 128));
  const gateway::v1::OutputParameters& output = wire.output();
  PHYLLO_RETURN_IF_ERROR(CheckInteger("output.stream_interval", output.has_stream_interval(),
                                      output.stream_interval(), 1, kMaxInt32));
  if (!gateway::v1::TruncationPolicy_IsValid(wire.truncation())) {
    return InvalidField("truncation", absl::StrCat(wire.truncation(), " is no truncation policy"));
  }
  PHYLLO_RETURN_IF_ERROR(CheckTexts("stop_sequences", wire.stop_sequences(), kMaxStopSequences));
  return CheckTexts("banned_texts", wire.banned_texts(), kMaxBannedTexts);
}

ProtoSampling ResolveSampling(const ProtoSampling& asked, const ProtoSampling& model_defaults,
                              uint64_t seed) {
  ProtoSampling resolved = model_defaults;
  // The request's lists replace the model's; merging would join them.
  if (!asked.allowed_token_ids().empty()) resolved.clear_allowed_token_ids();
  if (!asked.banned_token_sequences().empty()) resolved.clear_banned_token_sequences();
  resolved.MergeFrom(asked);
  if (!resolved.has_temperature()) resolved.set_temperature(1);
  if (!resolved.has_top_p()) resolved.set_top_p(1);
  if (!resolved.has_min_p()) resolved.set_min_p(0);
  if (!resolved.has_typical_p()) resolved.set_typical_p(1);
  if (resolved.has_dry() && !resolved.dry().has_base())
    resolved.mutable_dry()->set_base(DryParameters().base);
  if (resolved.has_dry() && !resolved.dry().has_allowed_length())
    resolved.mutable_dry()->set_allowed_length(DryParameters().allowed_length);
  if (!resolved.has_repetition_penalty()) resolved.set_repetition_penalty(1);
  if (!resolved.has_frequency_penalty()) resolved.set_frequency_penalty(0);
  if (!resolved.has_presence_penalty()) resolved.set_presence_penalty(0);
  if (!resolved.has_seed()) resolved.set_seed(seed);
  return resolved;
}

StoppingParameters ResolveStopping(const StoppingParameters& asked,
                                   const StoppingParameters& model_defaults) {
  StoppingParameters resolved = model_defaults;
  // The request's list replaces the model's; merging would join them.
  if (!asked.stop_token_ids().empty()) resolved.clear_stop_token_ids();
  resolved.MergeFrom(asked);
  if (!resolved.has_min_new_tokens()) resolved.set_min_new_tokens(0);
  if (!resolved.has_ignore_eos()) resolved.set_ignore_eos(false);
  return resolved;
}

// The log-probabilities of a prompt come in one message.
absl::Status CheckPromptLogprobCount(const GenerateRequest& wire, size_t prompt_size) {
  if (!wire.output().has_prompt_logprobs()) return absl::OkStatus();
  const common::v1::LogprobParameters& logprobs = wire.output().prompt_logprobs();
  const int64_t entries =
      static_cast<int64_t>(prompt_size) * (1 + logprobs.top_count() + logprobs.token_ids_size());
  if (entries <= kMaxPromptLogprobEntries) return absl::OkStatus();
  return InvalidField("output.prompt_logprobs",
                      absl::StrCat("would have ", entries, " entries; at most ",
                                   kMaxPromptLogprobEntries, "; Score streams any number"));
}

}  // namespace

RequestDefaults DrawRequestDefaults() {
  std::random_device entropy;
  const auto draw = [&entropy] { return uint64_t{entropy()} << 32 | entropy(); };
  const uint64_t seed = draw();
  const uint64_t high = draw();
  return {seed, absl::StrFormat("%016x%016x", high, draw())};
}

absl::StatusOr<GenerationRequest> ValidateGenerateRequest(
    const GenerateRequest& wire, const transformer::v1::GetInfoResponse& model,
    const RequestDefaults& defaults) {
  const int64_t vocab_size = model.shape().vocab_size();
  PHYLLO_RETURN_IF_ERROR(CheckModelName(wire.has_model(), wire.model(), model.server().model()));
  PHYLLO_RETURN_IF_ERROR(CheckShape(wire));
  PHYLLO_RETURN_IF_ERROR(CheckOffered(wire));
  PHYLLO_RETURN_IF_ERROR(CheckPrompt(wire, model.shape()));
  PHYLLO_RETURN_IF_ERROR(CheckSampling(wire.sampling(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckStopping(wire.stopping(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckLogprobs("output.logprobs", wire.output().logprobs(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(
      CheckLogprobs("output.prompt_logprobs", wire.output().prompt_logprobs(), vocab_size));
  PHYLLO_RETURN_IF_ERROR(CheckContext(wire.context()));

  GenerationRequest request;
  request.wire = &wire;
  request.context = wire.context();
  if (!request.context.has_request_id()) request.context.set_request_id(defaults.request_id);
  request.sampling = ResolveSampling(wire.sampling(), model.default_sampling(), defaults.seed);
  request.stopping = ResolveStopping(wire.stopping(), model.default_stopping());
  request.stop_token_ids.insert(request.stopping.stop_token_ids().begin(),
                                request.stopping.stop_token_ids().end());
  if (!request.stopping.ignore_eos())
    request.stop_token_ids.insert(model.eos_token_ids().begin(), model.eos_token_ids().end());
  request.stop_sequences.assign(wire.stop_sequences().begin(), wire.stop_sequences().end());
  request.choice_count = wire.has_choice_count() ? wire.choice_count() : 1;
  request.run_count = wire.has_best_of() ? wire.best_of() : request.choice_count;
  if (wire.output().has_stream_interval())
    request.stream_interval = wire.output().stream_interval();
  return request;
}

absl::Status CheckModelName(bool has_name, const std::string& name, const std::string& served) {
  if (!has_name || name == served) return absl::OkStatus();
  return WithReason(absl::NotFoundError(
                        absl::StrCat("no model of that name is served here; \"", served, "\" is")),
                    {"MODEL_NOT_FOUND", {}});
}

absl::StatusOr<int64_t> FitPrompt(int64_t max_sequence_length, GenerationRequest& request,
                                  std::vector<int32_t>& prompt_token_ids) {
  if (prompt_token_ids.empty()) return InvalidField("prompt", "has no tokens");
  StoppingParameters& stopping = request.stopping;
  const auto size = static_cast<int64_t>(prompt_token_ids.size());
  // A request that lets its prompt be cut keeps the answer it asks for, and one token of the
  // prompt.
  const gateway::v1::TruncationPolicy policy = request.wire->truncation();
  const bool may_cut = policy == gateway::v1::TRUNCATION_POLICY_CUT_START ||
                       policy == gateway::v1::TRUNCATION_POLICY_CUT_END;
  const int64_t answer =
      may_cut && request.wire->stopping().has_max_new_tokens() ? stopping.max_new_tokens() : 1;
  const int64_t available = std::max<int64_t>(max_sequence_length - answer, may_cut ? 1 : 0);
  const int64_t excess = std::max<int64_t>(size - available, 0);
  if (excess > 0 && !may_cut) {
    const absl::Status status =
        InvalidField("prompt", absl::StrCat("has ", size, " tokens; at most ", available,
                                            " leave room for a new token in this model's ",
                                            max_sequence_length));
    return WithReason(status, {"PROMPT_TOO_LONG",
                               {{"needed_token_count", absl::StrCat(size)},
                                {"available_token_count", absl::StrCat(available)}}});
  }
  if (policy == gateway::v1::TRUNCATION_POLICY_CUT_START)
    prompt_token_ids.erase(prompt_token_ids.begin(), prompt_token_ids.begin() + excess);
  if (policy == gateway::v1::TRUNCATION_POLICY_CUT_END)
    prompt_token_ids.resize(prompt_token_ids.size() - excess);
  const int64_t left = max_sequence_length - static_cast<int64_t>(prompt_token_ids.size());
  if (!stopping.has_max_new_tokens()) {
    request.ends_with_context = true;
    stopping.set_max_new_tokens(static_cast<int32_t>(std::min<int64_t>(left, kMaxInt32)));
  }
  if (stopping.min_new_tokens() > stopping.max_new_tokens()) {
    return InvalidField(
        "stopping.min_new_tokens",
        absl::StrCat("is ", stopping.min_new_tokens(), "; must be at most max_new_tokens, ",
                     stopping.max_new_tokens()));
  }
  PHYLLO_RETURN_IF_ERROR(CheckPromptLogprobCount(*request.wire, prompt_token_ids.size()));
  return excess;
}

}  // namespace phyllo
