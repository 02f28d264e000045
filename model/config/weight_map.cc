#include "model/config/weight_map.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/config/decoder_description.h"
#include "model/config/weight_names.h"

// Walks a description and asks the family's table for the name of each weight. Knows no family.
// check_tensors.cc compares the names with a checkpoint.

namespace phyllo {
namespace {

// A matrix of one module, and its bias.
struct LinearPart {
  WeightRole weight;
  WeightRole bias;
  int64_t rows = 0;
  bool has_bias = false;
};

class WeightMapBuilder {
 public:
  explicit WeightMapBuilder(const DecoderDescription& description) : description_(description) {
    PHYLLO_CHECK(description.weight_names != nullptr);
  }

  // What is added from here on belongs to that layer, and to that expert of the group.
  void SetPlace(int64_t layer, WeightGroup group = WeightGroup::kDense, int64_t expert = -1) {
    layer_ = layer;
    group_ = group;
    expert_ = expert;
  }

  // The weight of a norm.
  void AddNorm(WeightRole role, int64_t size) { AddVector(role, role, "", size); }

  // The bias beside the weight of that role.
  void AddBias(WeightRole weight, WeightRole bias, int64_t size) {
    AddVector(bias, weight, ".bias", size);
  }

  // A matrix outside the layers.
  void AddMatrix(WeightRole role, int64_t rows, int64_t columns) {
    WeightSpec& spec = Add(role, role, "");
    spec.rows = rows;
    spec.columns = columns;
    spec.shape = {rows, columns};
  }

  // Matrices of one layer that read the same [.., columns]; those of one name are fused.
  void AddLinears(absl::Span<const LinearPart> parts, int64_t columns) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const LinearPart& part = parts[i];
      int64_t before = 0;
      int64_t all = 0;
      for (size_t k = 0; k < parts.size(); ++k) {
        if (Names(parts[k].weight, "") != Names(part.weight, "")) continue;
        if (k < i) before += parts[k].rows;
        all += parts[k].rows;
      }
      WeightSpec& matrix = Add(part.weight, part.weight, "");
      matrix.rows = part.rows;
      matrix.columns = columns;
      matrix.transposed = description_.weight_names->in_out;
      matrix.shape = matrix.transposed ? std::vector<int64_t>{columns, all}
                                       : std::vector<int64_t>{all, columns};
      PlaceRows(before, all, matrix);
      PlaceExpert(all, matrix);
      PlaceHeads(part.weight, matrix);
      if (!part.has_bias) continue;
      WeightSpec& bias = Add(part.bias, part.weight, ".bias");
      bias.rows = part.rows;
      bias.shape = {all};
      PlaceRows(before, all, bias);
      PlaceHeads(part.weight, bias);
    }
  }

  // lm_head is embed_tokens, but may be in the file.
  void AddTiedHead() { map_.tied_names = Names(WeightRole::kLmHead, ""); }

  WeightMap Finish() {
    for (const WeightNames* table = description_.weight_names; table; table = table->base) {
      for (const absl::string_view name : table->ignored) {
        for (const absl::string_view prefix : Prefixes())
          map_.ignored_names.push_back(absl::StrCat(prefix, name));
      }
    }
    return std::move(map_);
  }

 private:
  void AddVector(WeightRole role, WeightRole named, absl::string_view suffix, int64_t size) {
    WeightSpec& spec = Add(role, named, suffix);
    spec.rows = size;
    spec.shape = {size};
  }

  WeightSpec& Add(WeightRole role, WeightRole named, absl::string_view suffix) {
    WeightSpec spec;
    spec.role = role;
    spec.layer = layer_;
    spec.expert = expert_;
    spec.names = Names(named, suffix);
    map_.specs.push_back(std::move(spec));
    return map_.specs.back();
  }

  void PlaceRows(int64_t before, int64_t all, WeightSpec& spec) const {
    spec.row_begin = before;
    if (all == spec.rows || description_.weight_names->fused_rows == FusedRows::kStacked) return;
    const int64_t heads = description_.layers[layer_].attention.num_key_value_heads;
    spec.row_begin = before / heads;
    spec.run_rows = spec.rows / heads;
    spec.run_stride = all / heads;
  }

  // A matrix of `all` rows of one expert in the tensor of all of them.
  void PlaceExpert(int64_t all, WeightSpec& spec) const {
    if (group_ != WeightGroup::kExpert || !description_.weight_names->stacked_experts) return;
    spec.shape = {NumExperts(), all, spec.columns};
    spec.row_begin += expert_ * all;
  }

  void PlaceHeads(WeightRole weight, WeightSpec& spec) const {
    const bool rotated = weight == WeightRole::kQProj || weight == WeightRole::kKProj;
    if (rotated && description_.weight_names->interleaved_heads)
      spec.interleaved_head_dim = description_.layers[layer_].attention.head_dim;
  }

  absl::Span<const absl::string_view> Prefixes() const {
    const WeightNames* table = description_.weight_names;
    while (table->prefixes.empty() && table->base != nullptr) table = table->base;
    return table->prefixes;
  }

  // The accepted names of a role in the current place; an empty `suffix` means the table's.
  std::vector<std::string> Names(WeightRole role, absl::string_view suffix) const {
    static constexpr absl::string_view kNoPrefix[] = {""};
    const bool absolute = role == WeightRole::kLmHead || role == WeightRole::kScore;
    const absl::Span<const absl::string_view> prefixes =
        absolute ? absl::MakeConstSpan(kNoPrefix) : Prefixes();
    const int64_t first = group_ == WeightGroup::kSharedExpert ? NumExperts() : 0;
    std::vector<std::string> names;
    for (const WeightNames* table = description_.weight_names; table != nullptr && names.empty();
         table = table->base) {
      for (const absl::string_view prefix : prefixes) {
        for (const WeightName& line : table->names) {
          if (line.role != role || line.group != group_) continue;
          const std::string module = absl::StrReplaceAll(
              line.module, {{"*", absl::StrCat(layer_)}, {"#", absl::StrCat(expert_ - first)}});
          names.push_back(absl::StrCat(prefix, module, suffix.empty() ? line.suffix : suffix));
        }
      }
    }
    PHYLLO_CHECK(!names.empty());  // a family describes only what its table names
    return names;
  }

  int64_t NumExperts() const {
    return description_.layers[layer_].feed_forward.experts->num_experts;
  }

  const DecoderDescription& description_;
  int64_t layer_ = -1;
  WeightGroup group_ = WeightGroup::kDense;
  int64_t expert_ = -1;
  WeightMap map_;
};

using Role = WeightRole;

void AddNorm(const DecoderDescription& description, Role weight, Role bias,
             WeightMapBuilder& builder) {
  builder.AddNorm(weight, description.hidden_size);
  if (description.norm.bias) builder.AddBias(weight, bias, description.hidden_size);
}

void AddAttention(const DecoderDescription& description, const AttentionDescription& attention,
                  WeightMapBuilder& builder) {
  const int64_t d = description.hidden_size;
  const int64_t q_rows = attention.num_attention_heads * attention.head_dim;
  const int64_t kv_rows = attention.num_key_value_heads * attention.head_dim;
  builder.AddLinears({{Role::kQProj, Role::kQProjBias, q_rows, attention.q_bias},
                      {Role::kKProj, Role::kKProjBias, kv_rows, attention.k_bias},
                      {Role::kVProj, Role::kVProjBias, kv_rows, attention.v_bias}},
                     d);
  if (attention.qk_norm != QkNorm::kNone) {
    const bool head = attention.qk_norm == QkNorm::kHead;
    builder.AddNorm(Role::kQNorm, head ? attention.head_dim : q_rows);
    builder.AddNorm(Role::kKNorm, head ? attention.head_dim : kv_rows);
  }
  builder.AddLinears({{Role::kOProj, Role::kOProjBias, d, attention.o_bias}}, q_rows);
}

// One dense feed-forward, or one expert.
void AddFeedForward(const DecoderDescription& description,
                    const FeedForwardDescription& feed_forward, WeightMapBuilder& builder) {
  const int64_t inner = feed_forward.intermediate_size;
  const LinearPart up = {Role::kUpProj, Role::kUpProjBias, inner, feed_forward.up_bias};
  if (feed_forward.gated) {
    builder.AddLinears({{Role::kGateProj, Role::kGateProjBias, inner, feed_forward.gate_bias}, up},
                       description.hidden_size);
  } else {
    builder.AddLinears({up}, description.hidden_size);
  }
  builder.AddLinears(
      {{Role::kDownProj, Role::kDownProjBias, description.hidden_size, feed_forward.down_bias}},
      inner);
}

void AddExperts(const DecoderDescription& description, int64_t layer, WeightMapBuilder& builder) {
  const FeedForwardDescription& feed_forward = description.layers[layer].feed_forward;
  const ExpertsDescription& experts = *feed_forward.experts;
  builder.AddLinears({{Role::kRouter, Role::kRouter, experts.num_experts}},
                     description.hidden_size);
  for (int64_t i = 0; i < experts.num_experts + experts.num_shared_experts; ++i) {
    builder.SetPlace(
        layer, i < experts.num_experts ? WeightGroup::kExpert : WeightGroup::kSharedExpert, i);
    AddFeedForward(description, feed_forward, builder);
  }
  builder.SetPlace(layer);
}

void AddLayer(const DecoderDescription& description, int64_t i, WeightMapBuilder& builder) {
  const LayerDescription& layer = description.layers[i];
  builder.SetPlace(i);
  if (layer.input_norm) AddNorm(description, Role::kInputNorm, Role::kInputNormBias, builder);
  AddAttention(description, layer.attention, builder);
  if (layer.attention_output_norm)
    builder.AddNorm(Role::kAttentionOutputNorm, description.hidden_size);
  if (layer.feed_forward_norm)
    AddNorm(description, Role::kFeedForwardNorm, Role::kFeedForwardNormBias, builder);
  if (layer.feed_forward.experts.has_value()) {
    AddExperts(description, i, builder);
  } else {
    AddFeedForward(description, layer.feed_forward, builder);
  }
  if (layer.feed_forward_output_norm)
    builder.AddNorm(Role::kFeedForwardOutputNorm, description.hidden_size);
}

void AddHead(const DecoderDescription& description, WeightMapBuilder& builder) {
  switch (description.head) {
    case HeadKind::kLmHead:
      if (description.tie_word_embeddings) {
        builder.AddTiedHead();
      } else {
        builder.AddMatrix(Role::kLmHead, description.vocab_size, description.hidden_size);
      }
      if (description.lm_head_bias)
        builder.AddBias(Role::kLmHead, Role::kLmHeadBias, description.vocab_size);
      break;
    case HeadKind::kLabels:
      builder.AddMatrix(Role::kScore, description.num_labels, description.hidden_size);
      break;
    case HeadKind::kNone:
      break;
  }
}

}  // namespace

const WeightSpec* WeightMap::Find(WeightRole role, int64_t layer, int64_t expert) const {
  for (const WeightSpec& spec : specs) {
    if (spec.role == role && spec.layer == layer && spec.expert == expert) return &spec;
  }
  return nullptr;
}

WeightMap BuildWeightMap(const DecoderDescription& description) {
  WeightMapBuilder builder(description);
  builder.AddMatrix(Role::kEmbedTokens, description.vocab_size, description.hidden_size);
  if (description.positions == PositionKind::kLearned) {
    builder.AddMatrix(Role::kEmbedPositions, description.max_position_embeddings,
                      description.hidden_size);
  }
  for (int64_t i = 0; i < description.num_hidden_layers(); ++i) AddLayer(description, i, builder);
  builder.SetPlace(-1);
  AddNorm(description, Role::kFinalNorm, Role::kFinalNormBias, builder);
  AddHead(description, builder);
  return builder.Finish();
}

}  // namespace phyllo
