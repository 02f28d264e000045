#include "model/config/summary/model_summary.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/rope_parameters.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

// "[n, 64]", or "[n]" for token ids.
std::string TokensBy(int64_t size) { return absl::StrCat("[n, ", size, "]"); }

// Adds modules in the order of computation and counts the weights of each from the weight map.
class SummaryBuilder {
 public:
  SummaryBuilder(const DecoderDescription& description, const Checkpoint* checkpoint, DType dtype)
      : map_(BuildWeightMap(description)), checkpoint_(checkpoint), dtype_(dtype) {}

  // Modules added from here on belong to that layer, and to the part of it; -1 = outside.
  void SetPart(int64_t layer, std::string part) {
    layer_ = layer;
    part_ = std::move(part);
  }

  // A module with the weights of those roles that come next in the map, of experts below
  // `expert_end`.
  void Add(absl::string_view name, std::string kind, std::string input, std::string output,
           std::vector<WeightRole> roles,
           int64_t expert_end = std::numeric_limits<int64_t>::max()) {
    ModuleSummary module;
    module.layer = layer_;
    module.name =
        layer_ < 0 ? std::string(name) : absl::StrCat("layers.", layer_, ".", part_, name);
    module.kind = std::move(kind);
    module.input_shape = std::move(input);
    module.output_shape = std::move(output);
    for (; next_ < map_.specs.size() && Contains(roles, map_.specs[next_]) &&
           map_.specs[next_].expert < expert_end;
         ++next_) {
      const WeightSpec& spec = map_.specs[next_];
      const int64_t count = spec.rows * spec.columns;
      module.parameter_count += count;
      if (module.weight_type.empty())
        module.weight_type = std::string(DTypeName(WeightDType(spec)));
      module.weight_bytes += RunBytes(WeightDType(spec), count);
    }
    summary_.parameter_count += module.parameter_count;
    summary_.weight_bytes += module.weight_bytes;
    summary_.modules.push_back(std::move(module));
  }

  ModelSummary& summary() { return summary_; }

 private:
  // The map is in the order of computation too, so that one pass over it serves all modules.
  bool Contains(const std::vector<WeightRole>& roles, const WeightSpec& spec) const {
    return spec.layer == layer_ && std::find(roles.begin(), roles.end(), spec.role) != roles.end();
  }

  DType WeightDType(const WeightSpec& spec) const {
    if (checkpoint_ == nullptr) return dtype_;
    const absl::StatusOr<const TensorView*> tensor = FindWeight(spec, *checkpoint_);
    return tensor.ok() ? (*tensor)->dtype : dtype_;
  }

  const WeightMap map_;
  const Checkpoint* const checkpoint_;
  const DType dtype_;
  size_t next_ = 0;
  int64_t layer_ = -1;
  std::string part_;
  ModelSummary summary_;
};

std::string NormName(const NormDescription& norm) {
  std::string name = norm.kind == NormKind::kRmsNorm ? "RMSNorm" : "LayerNorm";
  if (norm.weight_offset != 0.0f) absl::StrAppend(&name, ", weight + ", norm.weight_offset);
  return name;
}

std::string Linear(bool bias) { return bias ? "Linear + bias" : "Linear"; }

std::string AttentionKind(const AttentionDescription& attention,
                          const DecoderDescription& description) {
  const int64_t heads = attention.num_attention_heads;
  const int64_t kv_heads = attention.num_key_value_heads;
  std::string kind = kv_heads == heads ? absl::StrCat("MHA ", heads)
                     : kv_heads == 1   ? absl::StrCat("MQA ", heads, ":1")
                                       : absl::StrCat("GQA ", heads, ":", kv_heads);
  absl::StrAppend(&kind, " x ", attention.head_dim);
  if (attention.rope.has_value()) {
    const RopeDescription& rope = description.ropes[*attention.rope];
    absl::StrAppend(&kind, ", RoPE ", RopeTypeName(rope.parameters.rope_type));
    if (rope.rotary_dim != attention.head_dim) absl::StrAppend(&kind, " of ", rope.rotary_dim);
    if (rope.layout == RopeLayout::kInterleaved) absl::StrAppend(&kind, " interleaved");
    if (description.ropes.size() > 1)
      absl::StrAppend(&kind, ", theta ", rope.parameters.rope_theta);
  } else if (description.positions == PositionKind::kRope) {
    absl::StrAppend(&kind, ", no positions");
  }
  if (attention.sliding_window.has_value())
    absl::StrAppend(&kind, ", window ", *attention.sliding_window);
  if (attention.soft_cap != 0.0f) absl::StrAppend(&kind, ", soft cap ", attention.soft_cap);
  return kind;
}

void AddAttention(const DecoderDescription& description, int64_t layer, SummaryBuilder& builder) {
  const AttentionDescription& attention = description.layers[layer].attention;
  const std::string hidden = TokensBy(description.hidden_size);
  const std::string queries = TokensBy(attention.num_attention_heads * attention.head_dim);
  const std::string keys = TokensBy(attention.num_key_value_heads * attention.head_dim);
  builder.SetPart(layer, "self_attn.");
  builder.Add("q_proj", Linear(attention.q_bias), hidden, queries,
              {WeightRole::kQProj, WeightRole::kQProjBias});
  builder.Add("k_proj", Linear(attention.k_bias), hidden, keys,
              {WeightRole::kKProj, WeightRole::kKProjBias});
  builder.Add("v_proj", Linear(attention.v_bias), hidden, keys,
              {WeightRole::kVProj, WeightRole::kVProjBias});
  if (attention.qk_norm != QkNorm::kNone) {
    const std::string norm =
        absl::StrCat(NormName(description.norm),
                     attention.qk_norm == QkNorm::kHead ? " per head" : " over all heads");
    builder.Add("q_norm", norm, queries, queries, {WeightRole::kQNorm});
    builder.Add("k_norm", norm, keys, keys, {WeightRole::kKNorm});
  }
  builder.Add("attention", AttentionKind(attention, description), queries, queries, {});
  builder.Add("o_proj", Linear(attention.o_bias), queries, hidden,
              {WeightRole::kOProj, WeightRole::kOProjBias});
}

std::string ActivationKind(const FeedForwardDescription& feed_forward) {
  const std::string name(ActivationName(feed_forward.activation));
  return feed_forward.gated ? absl::StrCat(name, "(gate) * up") : name;
}

void AddDenseFeedForward(const DecoderDescription& description, int64_t layer,
                         SummaryBuilder& builder) {
  const FeedForwardDescription& feed_forward = description.layers[layer].feed_forward;
  const std::string hidden = TokensBy(description.hidden_size);
  const std::string inner = TokensBy(feed_forward.intermediate_size);
  if (feed_forward.gated) {
    builder.Add("gate_proj", Linear(feed_forward.gate_bias), hidden, inner,
                {WeightRole::kGateProj, WeightRole::kGateProjBias});
  }
  builder.Add("up_proj", Linear(feed_forward.up_bias), hidden, inner,
              {WeightRole::kUpProj, WeightRole::kUpProjBias});
  builder.Add("activation", ActivationKind(feed_forward), inner, inner, {});
  builder.Add("down_proj", Linear(feed_forward.down_bias), inner, hidden,
              {WeightRole::kDownProj, WeightRole::kDownProjBias});
}

// All experts of a layer are one module.
void AddExperts(const DecoderDescription& description, int64_t layer, SummaryBuilder& builder) {
  const FeedForwardDescription& feed_forward = description.layers[layer].feed_forward;
  const ExpertsDescription& experts = *feed_forward.experts;
  const std::string hidden = TokensBy(description.hidden_size);
  const auto kind = [&](int64_t count) {
    return absl::StrCat(count, " x ", ActivationKind(feed_forward), " of ",
                        feed_forward.intermediate_size);
  };
  const std::vector<WeightRole> roles = {WeightRole::kGateProj, WeightRole::kGateProjBias,
                                         WeightRole::kUpProj,   WeightRole::kUpProjBias,
                                         WeightRole::kDownProj, WeightRole::kDownProjBias};
  builder.Add("router",
              absl::StrCat("top ", experts.num_experts_per_tok, " of ", experts.num_experts,
                           experts.norm_topk_prob ? ", renormalized" : ""),
              hidden, TokensBy(experts.num_experts), {WeightRole::kRouter});
  builder.Add("experts", kind(experts.num_experts), hidden, hidden, roles, experts.num_experts);
  if (experts.num_shared_experts > 0)
    builder.Add("shared_experts", kind(experts.num_shared_experts), hidden, hidden, roles);
}

void AddFeedForward(const DecoderDescription& description, int64_t layer, SummaryBuilder& builder) {
  builder.SetPart(layer, "mlp.");
  if (description.layers[layer].feed_forward.experts.has_value()) {
    AddExperts(description, layer, builder);
  } else {
    AddDenseFeedForward(description, layer, builder);
  }
}

// How the halves of a layer are joined, if it is not by plain sums one after the other.
void AddResidual(const DecoderDescription& description, int64_t layer, SummaryBuilder& builder) {
  const bool parallel = description.layers[layer].residual == ResidualForm::kParallel;
  std::string kind = parallel ? "attention and mlp in parallel" : "";
  if (description.residual_multiplier != 1.0f) {
    absl::StrAppend(&kind, parallel ? ", " : "", "halves * ", description.residual_multiplier);
  }
  if (kind.empty()) return;
  const std::string hidden = TokensBy(description.hidden_size);
  builder.Add("residual", std::move(kind), hidden, hidden, {});
}

void AddLayer(const DecoderDescription& description, int64_t i, SummaryBuilder& builder) {
  const LayerDescription& layer = description.layers[i];
  const std::string norm_kind = NormName(description.norm);
  const std::string hidden = TokensBy(description.hidden_size);
  const auto norm = [&](bool has, absl::string_view name, std::vector<WeightRole> roles) {
    builder.SetPart(i, "");
    if (has) builder.Add(name, norm_kind, hidden, hidden, std::move(roles));
  };
  norm(layer.input_norm, "input_norm", {WeightRole::kInputNorm, WeightRole::kInputNormBias});
  AddAttention(description, i, builder);
  norm(layer.attention_output_norm, "attention_output_norm", {WeightRole::kAttentionOutputNorm});
  norm(layer.feed_forward_norm, "feed_forward_norm",
       {WeightRole::kFeedForwardNorm, WeightRole::kFeedForwardNormBias});
  AddFeedForward(description, i, builder);
  norm(layer.feed_forward_output_norm, "feed_forward_output_norm",
       {WeightRole::kFeedForwardOutputNorm});
  AddResidual(description, i, builder);
}

void AddHead(const DecoderDescription& description, SummaryBuilder& builder) {
  const std::string hidden = TokensBy(description.hidden_size);
  if (description.head == HeadKind::kLabels) {
    builder.Add("score", "Linear, of the last token", hidden, TokensBy(description.num_labels),
                {WeightRole::kScore});
  }
  if (description.head != HeadKind::kLmHead) return;
  std::string kind = description.tie_word_embeddings ? "Linear, tied to embed_tokens"
                                                     : Linear(description.lm_head_bias);
  if (description.logits_divisor != 1.0f)
    absl::StrAppend(&kind, ", divided by ", description.logits_divisor);
  if (description.logits_soft_cap != 0.0f)
    absl::StrAppend(&kind, ", soft cap ", description.logits_soft_cap);
  builder.Add("lm_head", std::move(kind), hidden, TokensBy(description.vocab_size),
              {WeightRole::kLmHead, WeightRole::kLmHeadBias});
}

}  // namespace

ModelSummary SummarizeModel(const DecoderDescription& description, const Checkpoint* checkpoint,
                            DType dtype) {
  SummaryBuilder builder(description, checkpoint, dtype);
  const std::string hidden = TokensBy(description.hidden_size);
  std::string embedding = absl::StrCat("Embedding ", description.vocab_size);
  if (description.embedding_scale != 1.0f)
    absl::StrAppend(&embedding, ", * ", description.embedding_scale);
  builder.Add("embed_tokens", std::move(embedding), "[n]", hidden, {WeightRole::kEmbedTokens});
  if (description.positions == PositionKind::kLearned) {
    builder.Add("embed_positions", absl::StrCat("Embedding ", description.max_position_embeddings),
                "[n]", hidden, {WeightRole::kEmbedPositions});
  }
  int64_t kv_elements = 0;
  int64_t kv_scales = 0;
  for (int64_t layer = 0; layer < description.num_hidden_layers(); ++layer) {
    const AttentionDescription& attention = description.layers[layer].attention;
    kv_scales += 2 * attention.num_key_value_heads;
    kv_elements += 2 * attention.num_key_value_heads * attention.head_dim;
    AddLayer(description, layer, builder);
  }
  builder.SetPart(-1, "");
  builder.Add("norm", NormName(description.norm), hidden, hidden,
              {WeightRole::kFinalNorm, WeightRole::kFinalNormBias});
  AddHead(description, builder);
  ModelSummary summary = std::move(builder.summary());
  summary.kv_bytes_per_token_f32 = kv_elements * ByteSize(DType::kF32);
  summary.kv_bytes_per_token_bf16 = kv_elements * ByteSize(DType::kBf16);
  summary.kv_bytes_per_token_int8 = kv_elements + kv_scales * kFloatBytes;
  return summary;
}

}  // namespace phyllo
