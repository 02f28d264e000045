#include "services/transformer/wire/request_conversion.h"

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/heads/pooling.h"
#include "model/sampling/sampling_parameters.h"
#include "model/tensor/dtype.h"
#include "services/common/durations.h"
#include "services/common/status_bridge.h"
#include "services/transformer/engine/speculation/sequence_draft.h"

namespace phyllo {
namespace {

absl::Status CheckContext(const common::v1::RequestContext& context) {
  if (context.has_adapter()) return absl::NotFoundError("this server has no adapters");
  if (context.priority() < -100 || context.priority() > 100) {
    return InvalidField("context.priority",
                        absl::StrCat("is ", context.priority(), ", must be in [-100, 100]"));
  }
  if (context.tenant().size() > 128) {
    return InvalidField("context.tenant", absl::StrCat("has ", context.tenant().size(),
                                                       " bytes, must have at most 128"));
  }
  if (context.prefix_cache_salt().size() > 64) {
    return InvalidField(
        "context.prefix_cache_salt",
        absl::StrCat("has ", context.prefix_cache_salt().size(), " bytes, must have at most 64"));
  }
  return absl::OkStatus();
}

DryParameters ToDry(const common::v1::DryParameters& proto) {
  DryParameters dry;
  dry.multiplier = proto.multiplier();
  if (proto.has_base()) dry.base = proto.base();
  if (proto.has_allowed_length()) dry.allowed_length = proto.allowed_length();
  dry.breaker_token_ids.insert(proto.breaker_token_ids().begin(), proto.breaker_token_ids().end());
  return dry;
}

void SetContext(const common::v1::RequestContext& context, SequenceRequest& request) {
  request.priority = context.priority();
  request.use_prefix_cache = !context.has_use_prefix_cache() || context.use_prefix_cache();
  // The length keeps one tenant's salt from reading like another tenant's name.
  request.cache_name =
      absl::StrCat(context.tenant().size(), ":", context.tenant(), context.prefix_cache_salt());
}

absl::StatusOr<SamplingParameters> ToSampling(const common::v1::SamplingParameters& proto) {
  SamplingParameters sampling;
  if (proto.has_temperature()) sampling.temperature = proto.temperature();
  if (proto.has_top_k()) sampling.top_k = proto.top_k();
  if (proto.has_top_p()) sampling.top_p = proto.top_p();
  if (proto.has_min_p()) sampling.min_p = proto.min_p();
  if (proto.has_typical_p()) sampling.typical_p = proto.typical_p();
  if (proto.has_top_n_sigma()) sampling.top_n_sigma = proto.top_n_sigma();
  if (proto.has_xtc())
    sampling.xtc = XtcParameters{proto.xtc().probability(), proto.xtc().threshold()};
  if (proto.has_penalty_window()) sampling.penalty_window = proto.penalty_window();
  if (proto.has_dry()) sampling.dry = ToDry(proto.dry());
  if (proto.has_no_repeat_ngram_size())
    sampling.no_repeat_ngram_size = proto.no_repeat_ngram_size();
  for (const common::v1::TokenSequence& sequence : proto.banned_token_sequences())
    sampling.banned_sequences.emplace_back(sequence.token_ids().begin(),
                                           sequence.token_ids().end());
  if (proto.has_repetition_penalty()) sampling.repetition_penalty = proto.repetition_penalty();
  if (proto.has_frequency_penalty()) sampling.frequency_penalty = proto.frequency_penalty();
  if (proto.has_presence_penalty()) sampling.presence_penalty = proto.presence_penalty();
  sampling.logit_bias.assign(proto.logit_bias().begin(), proto.logit_bias().end());
  sampling.allowed_token_ids.assign(proto.allowed_token_ids().begin(),
                                    proto.allowed_token_ids().end());
  if (!proto.has_seed() && sampling.temperature != 0.0f)
    return InvalidField("sampling.seed", "is required unless temperature is 0");
  sampling.seed = proto.seed();
  return sampling;
}

void SetLogprobs(const common::v1::LogprobParameters& logprobs, SamplingParameters& sampling) {
  sampling.logprobs = true;
  sampling.top_logprobs = logprobs.top_count();
  sampling.logprob_token_ids.assign(logprobs.token_ids().begin(), logprobs.token_ids().end());
}

absl::StatusOr<EncodingRequest> ToEncoding(common::v1::Pooling pooling) {
  switch (pooling) {
    case common::v1::POOLING_UNSPECIFIED:
      return EncodingRequest{};
    case common::v1::POOLING_LAST:
      return EncodingRequest{Pooling::kLast};
    case common::v1::POOLING_MEAN:
      return EncodingRequest{Pooling::kMean};
    case common::v1::POOLING_CLS:
      return EncodingRequest{Pooling::kCls};
    case common::v1::POOLING_NONE:
      return EncodingRequest{Pooling::kNone};
    default:
      return InvalidField("pooling", absl::StrCat("is ", static_cast<int>(pooling),
                                                  ", must be one of enum Pooling"));
  }
}

absl::StatusOr<SpeculationRequest> ToSpeculation(
    const transformer::v1::SpeculationParameters& proto) {
  SpeculationRequest speculation = {.enabled = proto.enabled()};
  if (proto.has_max_draft_token_count()) {
    const int64_t count = proto.max_draft_token_count();
    if (count < 1 || count > kMaxDraftTokens) {
      return InvalidField("speculation.max_draft_token_count",
                          absl::StrCat("is ", count, ", must be in [1, ", kMaxDraftTokens, "]"));
    }
    speculation.max_draft_tokens = count;
  }
  return speculation;
}

std::optional<DType> ToDType(common::v1::DataType type) {
  switch (type) {
    case common::v1::DATA_TYPE_F32:
      return DType::kF32;
    case common::v1::DATA_TYPE_F16:
      return DType::kF16;
    case common::v1::DATA_TYPE_BF16:
      return DType::kBf16;
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::GenerateStart& start) {
  PHYLLO_RETURN_IF_ERROR(CheckContext(start.context()));
  if (start.has_constraint())
    return InvalidField("constraint",
                        "is not offered: this server has no grammar to mask tokens by");
  const common::v1::StoppingParameters& stopping = start.stopping();
  if (!stopping.has_max_new_tokens()) return InvalidField("stopping.max_new_tokens", "is required");
  if (stopping.max_new_tokens() < 1) {
    return InvalidField("stopping.max_new_tokens",
                        absl::StrCat("is ", stopping.max_new_tokens(), ", must be at least 1"));
  }
  SequenceRequest request;
  request.prompt_token_ids.assign(start.prompt_token_ids().begin(), start.prompt_token_ids().end());
  request.prompt_is_hidden_states = start.prompt_is_hidden_states();
  request.generated_token_ids.assign(start.generated_token_ids().begin(),
                                     start.generated_token_ids().end());
  request.max_new_tokens = stopping.max_new_tokens();
  PHYLLO_ASSIGN_OR_RETURN(request.sampling, ToSampling(start.sampling()));
  request.sampling.min_tokens = stopping.min_new_tokens();
  request.sampling.choice = start.choice_index();
  request.sampling.stop_token_ids.assign(stopping.stop_token_ids().begin(),
                                         stopping.stop_token_ids().end());
  request.ignore_eos = stopping.ignore_eos();
  if (stopping.has_time_limit()) request.time_limit = FromProtoDuration(stopping.time_limit());
  if (start.has_logprobs()) SetLogprobs(start.logprobs(), request.sampling);
  if (start.has_prompt_logprobs()) {
    request.first_scored_index = 1;
    SetLogprobs(start.prompt_logprobs(), request.prompt_logprobs);
  }
  if (start.has_speculation()) {
    PHYLLO_ASSIGN_OR_RETURN(request.speculation, ToSpeculation(start.speculation()));
  }
  SetContext(start.context(), request);
  return request;
}

absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::ScoreStart& start) {
  PHYLLO_RETURN_IF_ERROR(CheckContext(start.context()));
  if (start.with_logits()) {
    return InvalidField("with_logits",
                        "is not offered: ask for logprobs.top_count or logprobs.token_ids");
  }
  if (start.token_ids_size() < 2) {
    return InvalidField("token_ids",
                        absl::StrCat("has ", start.token_ids_size(), " ids, must have at least 2"));
  }
  const int64_t first = start.has_first_scored_index() ? start.first_scored_index() : 1;
  if (first < 1 || first >= start.token_ids_size()) {
    return InvalidField("first_scored_index", absl::StrCat("is ", first, ", must be in [1, ",
                                                           start.token_ids_size(), ")"));
  }
  SequenceRequest request;
  request.prompt_token_ids.assign(start.token_ids().begin(), start.token_ids().end());
  request.first_scored_index = first;
  if (start.has_logprobs()) SetLogprobs(start.logprobs(), request.prompt_logprobs);
  SetContext(start.context(), request);
  return request;
}

absl::StatusOr<SequenceRequest> ToSequenceRequest(const transformer::v1::EncodeStart& start) {
  PHYLLO_RETURN_IF_ERROR(CheckContext(start.context()));
  if (start.token_ids_size() < 1)
    return InvalidField("token_ids", "has 0 ids, must have at least 1");
  SequenceRequest request;
  request.prompt_token_ids.assign(start.token_ids().begin(), start.token_ids().end());
  PHYLLO_ASSIGN_OR_RETURN(request.encoding, ToEncoding(start.pooling()));
  SetContext(start.context(), request);
  return request;
}

absl::StatusOr<std::vector<float>> ToHiddenStates(const common::v1::Tensor& rows,
                                                  int64_t hidden_size) {
  const std::optional<DType> dtype = ToDType(rows.data_type());
  if (!dtype)
    return InvalidField("hidden_states.rows.data_type",
                        absl::StrCat("is ", rows.data_type(), ", must be F32, F16 or BF16"));
  if (rows.shape_size() != 2 || rows.shape(0) < 1 || rows.shape(1) != hidden_size) {
    return InvalidField("hidden_states.rows.shape",
                        absl::StrCat("must be [count, ", hidden_size, "] with count at least 1"));
  }
  const auto byte_count = static_cast<int64_t>(rows.data().size());
  const int64_t row_bytes = hidden_size * ByteSize(*dtype);
  // Compared by division: a product of wire values might overflow.
  if (byte_count % row_bytes != 0 || byte_count / row_bytes != rows.shape(0)) {
    return InvalidField(
        "hidden_states.rows.data",
        absl::StrCat("has ", byte_count, " bytes, which is not what its shape says"));
  }
  std::vector<float> hidden_states(rows.shape(0) * hidden_size);
  ConvertToFloat(*dtype, rows.data().data(), absl::MakeSpan(hidden_states));
  return hidden_states;
}

}  // namespace phyllo
