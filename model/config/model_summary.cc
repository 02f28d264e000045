#include "model/config/model_summary.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/decoder_description.h"
#include "model/config/rope_parameters.h"
#include "model/config/weight_map.h"
#include "model/config/weight_names.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

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

// 1234567 -> "1,234,567".
std::string Grouped(int64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped.push_back(',');
    grouped.push_back(digits[i]);
  }
  return grouped;
}

// True if the two modules are the same but for the layer number.
bool SameShape(const ModuleSummary& a, const ModuleSummary& b) {
  return a.kind == b.kind && a.input_shape == b.input_shape && a.output_shape == b.output_shape &&
         a.parameter_count == b.parameter_count && a.weight_bytes == b.weight_bytes &&
         a.weight_type == b.weight_type;
}

// One past the last module of the layer that begins at `begin`.
size_t LayerEnd(const std::vector<ModuleSummary>& modules, size_t begin) {
  size_t end = begin;
  while (end < modules.size() && modules[end].layer == modules[begin].layer) ++end;
  return end;
}

// How many layers from `begin` on, itself included, equal it.
int64_t EqualLayers(const std::vector<ModuleSummary>& modules, size_t begin) {
  const size_t size = LayerEnd(modules, begin) - begin;
  int64_t count = 1;
  for (size_t next = begin + size; next < modules.size() && modules[next].layer >= 0;
       next += size, ++count) {
    if (LayerEnd(modules, next) - next != size) break;
    if (!std::equal(modules.begin() + begin, modules.begin() + begin + size, modules.begin() + next,
                    SameShape))
      break;
  }
  return count;
}

using Cells = std::array<std::string, 7>;

Cells Row(const ModuleSummary& module) {
  return {module.name,
          module.kind,
          module.input_shape,
          module.output_shape,
          module.weight_type,
          Grouped(module.parameter_count),
          Grouped(module.weight_bytes)};
}

// The rows as lines of equally wide columns, words to the left and numbers to the right. A row of
// one cell is a line of its own.
std::string AlignColumns(absl::Span<const Cells> rows) {
  constexpr size_t kFirstNumber = 5;
  std::array<size_t, 7> widths = {};
  for (const Cells& row : rows) {
    if (row[1].empty()) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size() && !(row[1].empty() && i > 0); ++i) {
      if (i > 0) text.append(2, ' ');
      const size_t padding = row[1].empty() ? 0 : widths[i] - row[i].size();
      if (i >= kFirstNumber) text.append(padding, ' ');
      text += row[i];
      if (i < kFirstNumber) text.append(padding, ' ');
    }
    text.push_back('\n');
  }
  return text;
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
  for (int64_t layer = 0; layer < description.num_hidden_layers(); ++layer) {
    const AttentionDescription& attention = description.layers[layer].attention;
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
  return summary;
}

std::string FormatModelSummary(const ModelSummary& summary, bool all_layers) {
  std::vector<Cells> rows = {{"module", "kind", "input", "output", "type", "parameters", "bytes"}};
  const std::vector<ModuleSummary>& modules = summary.modules;
  size_t i = 0;
  while (i < modules.size()) {
    if (modules[i].layer < 0) {
      rows.push_back(Row(modules[i++]));
      continue;
    }
    const size_t size = LayerEnd(modules, i) - i;
    const int64_t layer = modules[i].layer;
    const int64_t equal = all_layers ? 1 : EqualLayers(modules, i);
    for (size_t k = 0; k < size; ++k) rows.push_back(Row(modules[i + k]));
    if (equal > 1) {
      std::string layers = absl::StrCat("layers.", layer + 1);
      if (equal > 2) absl::StrAppend(&layers, " .. layers.", layer + equal - 1);
      rows.push_back({absl::StrCat(layers, ": as layers.", layer)});
    }
    i += size * static_cast<size_t>(equal);
  }
  return absl::StrCat(AlignColumns(rows), "total: ", Grouped(summary.parameter_count),
                      " parameters, ", Grouped(summary.weight_bytes), " bytes\n",
                      "KV cache per token: ", Grouped(summary.kv_bytes_per_token_bf16),
                      " bytes in bf16, ", Grouped(summary.kv_bytes_per_token_f32), " in f32\n");
}

}  // namespace phyllo
