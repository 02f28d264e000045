#include "services/transformer/model_info.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/config/summary/model_summary.h"
#include "model/heads/pooling.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/sampling/logits_row.h"
#include "model/sampling/sampler.h"

namespace phyllo {
namespace {

void SetShape(const LocalStepModel& model, common::v1::ModelShape& shape) {
  const ModelConfig& config = model.config();
  shape.set_architecture(config.architectures.empty() ? config.model_type
                                                      : config.architectures[0]);
  const DecoderDescription& decoder = config.decoder;
  const LayerDescription& layer = decoder.layers.front();
  shape.set_hidden_size(decoder.hidden_size);
  shape.set_num_hidden_layers(decoder.num_hidden_layers());
  shape.set_num_attention_heads(layer.attention.num_attention_heads);
  shape.set_num_key_value_heads(layer.attention.num_key_value_heads);
  shape.set_head_dim(layer.attention.head_dim);
  shape.set_intermediate_size(layer.feed_forward.intermediate_size);
  shape.set_vocab_size(decoder.vocab_size);
  shape.set_max_position_embeddings(decoder.max_position_embeddings);
  shape.set_parameter_count(
      SummarizeModel(model.description(), &model.checkpoint(), DType::kF32).parameter_count);
  shape.set_kv_cache_bytes_per_token(model.kv_bytes_per_token());
  shape.set_tie_word_embeddings(decoder.tie_word_embeddings);
}

common::v1::HeadKind ToProto(HeadKind head) {
  switch (head) {
    case HeadKind::kLmHead:
      return common::v1::HEAD_KIND_LM;
    case HeadKind::kLabels:
      return common::v1::HEAD_KIND_LABELS;
    case HeadKind::kNone:
      return common::v1::HEAD_KIND_NONE;
  }
  return common::v1::HEAD_KIND_UNSPECIFIED;
}

common::v1::Pooling ToProto(Pooling pooling) {
  switch (pooling) {
    case Pooling::kLast:
      return common::v1::POOLING_LAST;
    case Pooling::kMean:
      return common::v1::POOLING_MEAN;
    case Pooling::kCls:
      return common::v1::POOLING_CLS;
    case Pooling::kNone:
      return common::v1::POOLING_NONE;
  }
  return common::v1::POOLING_UNSPECIFIED;
}

absl::Status CheckFinalHiddenState(StepModel& model, MatrixView<float> row) {
  PHYLLO_RETURN_IF_ERROR(model.ApplyFinalNorm(row));
  for (int64_t i = 0; i < row.cols; ++i) {
    if (!std::isfinite(row.data[i]))
      return absl::InternalError("the hidden state of token 0 is not finite");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int32_t> EosTokenIds(const LocalStepModel& model) {
  const std::vector<int64_t> ids = EndOfSequenceIds(model.generation_config(), model.config());
  return {ids.begin(), ids.end()};
}

transformer::v1::GetInfoResponse DescribeModel(const LocalStepModel& model,
                                               const SequenceLimits& limits) {
  transformer::v1::GetInfoResponse info;
  SetShape(model, *info.mutable_shape());
  info.set_first_layer(0);
  info.set_last_layer(model.config().decoder.num_hidden_layers());
  info.set_max_sequence_length(limits.max_sequence_length);
  for (const int32_t id : limits.eos_token_ids) info.add_eos_token_ids(id);
  info.set_head(ToProto(model.sizes().head));
  info.set_default_pooling(ToProto(model.sizes().default_pooling));
  if (model.sizes().head == HeadKind::kLabels) {
    for (const std::string& label : model.config().labels) info.add_labels(label);
    info.set_problem_type(ToProblemType(model.config().problem_type));
  }
  *info.mutable_default_sampling() = DefaultSampling(model.generation_config());
  if (model.generation_config().max_new_tokens) {
    info.mutable_default_stopping()->set_max_new_tokens(
        static_cast<int32_t>(*model.generation_config().max_new_tokens));
  }
  return info;
}

common::v1::ProblemType ToProblemType(absl::string_view text) {
  if (text == "single_label_classification")
    return common::v1::PROBLEM_TYPE_SINGLE_LABEL_CLASSIFICATION;
  if (text == "multi_label_classification")
    return common::v1::PROBLEM_TYPE_MULTI_LABEL_CLASSIFICATION;
  if (text == "regression") return common::v1::PROBLEM_TYPE_REGRESSION;
  return common::v1::PROBLEM_TYPE_UNSPECIFIED;
}

common::v1::SamplingParameters DefaultSampling(const GenerationConfig& config) {
  common::v1::SamplingParameters sampling;
  if (config.do_sample == false) {
    sampling.set_temperature(0.0f);
  } else if (config.temperature) {
    sampling.set_temperature(static_cast<float>(*config.temperature));
  }
  if (config.top_k.value_or(0) > 0) sampling.set_top_k(static_cast<int32_t>(*config.top_k));
  if (config.top_p.value_or(0.0) > 0.0) sampling.set_top_p(static_cast<float>(*config.top_p));
  if (config.min_p) sampling.set_min_p(static_cast<float>(*config.min_p));
  if (config.repetition_penalty)
    sampling.set_repetition_penalty(static_cast<float>(*config.repetition_penalty));
  // The reference takes 0 as off, and for typical_p 1 as well.
  if (config.typical_p.value_or(0.0) > 0.0)
    sampling.set_typical_p(static_cast<float>(*config.typical_p));
  if (config.no_repeat_ngram_size.value_or(0) > 0)
    sampling.set_no_repeat_ngram_size(static_cast<int32_t>(*config.no_repeat_ngram_size));
  for (const std::vector<int64_t>& ids : config.banned_token_sequences)
    sampling.add_banned_token_sequences()->mutable_token_ids()->Assign(ids.begin(), ids.end());
  for (const auto& [id, bias] : config.logit_bias)
    (*sampling.mutable_logit_bias())[static_cast<int32_t>(id)] = static_cast<float>(bias);
  return sampling;
}

absl::Status WarmUp(StepModel& model) {
  const StepModelSizes& sizes = model.sizes();
  std::vector<float> hidden_states(sizes.hidden_size);
  SequencePages pages(model.page_groups(), sizes.page_size);
  PHYLLO_RETURN_IF_ERROR(pages.Resize(1));
  PHYLLO_RETURN_IF_ERROR(model.Embed({0}, 0, absl::MakeSpan(hidden_states)));
  const MatrixView<float> row = {hidden_states.data(), 1, sizes.hidden_size, sizes.hidden_size};
  PHYLLO_RETURN_IF_ERROR(model.Forward(
      {{.row_begin = 0, .row_count = 1, .first_position = 0, .prompt_length = 1, .pages = &pages}},
      row));
  if (sizes.head != HeadKind::kLmHead) return CheckFinalHiddenState(model, row);
  LargestLogit largest;
  PHYLLO_RETURN_IF_ERROR(model.ComputeLogits({0}, row, absl::MakeSpan(&largest, 1), /*logits=*/{}));
  return TakeLargest(largest).status();
}

}  // namespace phyllo
