#include "model/transformer/testing/reference_transformer.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/rope.h"
#include "model/config/weight_map.h"

namespace phyllo {
namespace {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;  // [rows][cols]

// Reads weights by role; an absent role is an empty vector.
class Weights {
 public:
  Weights(const DecoderDescription& description, const Checkpoint& checkpoint)
      : map_(BuildWeightMap(description)), checkpoint_(checkpoint) {}

  absl::StatusOr<Rows> Matrix(WeightRole role, int64_t layer, int64_t expert = -1) const {
    const WeightSpec* const spec = map_.Find(role, layer, expert);
    if (spec == nullptr) return Rows();
    PHYLLO_ASSIGN_OR_RETURN(const TensorView* const tensor, FindWeight(*spec, checkpoint_));
    Rows result;
    std::vector<float> row(spec->columns);
    for (int64_t i = 0; i < spec->rows; ++i) {
      ReadWeightRows(*spec, *tensor, i, absl::MakeSpan(row));
      result.emplace_back(row.begin(), row.end());
    }
    return result;
  }

  absl::StatusOr<Vector> Column(WeightRole role, int64_t layer, int64_t expert = -1) const {
    PHYLLO_ASSIGN_OR_RETURN(const Rows rows, Matrix(role, layer, expert));
    Vector result;
    for (const Vector& row : rows) result.push_back(row[0]);
    return result;
  }

 private:
  const WeightMap map_;
  const Checkpoint& checkpoint_;
};

Vector Norm(NormKind kind, double eps, const Vector& x, const Vector& weight, const Vector& bias) {
  double mean = 0;
  double square = 0;
  for (const double value : x) mean += value / x.size();
  if (kind == NormKind::kRmsNorm) mean = 0;
  for (const double value : x) square += (value - mean) * (value - mean) / x.size();
  Vector out(x.size());
  for (size_t j = 0; j < x.size(); ++j) {
    out[j] = (x[j] - mean) / std::sqrt(square + eps) * weight[j] + (bias.empty() ? 0 : bias[j]);
  }
  return out;
}

Vector Linear(const Rows& weight, const Vector& bias, const Vector& x) {
  Vector y(weight.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    for (size_t j = 0; j < x.size(); ++j) y[i] += weight[i][j] * x[j];
    if (!bias.empty()) y[i] += bias[i];
  }
  return y;
}

double Act(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kRelu:
      return x > 0 ? x : 0;
  }
  return 0;
}

// Head norm, then rotation at `position`, of one head [hd] in place.
void PrepareHead(const AttentionDescription& attention, double eps, const Vector& norm,
                 const RopeFrequencies* rope, absl::Span<const float> frequencies, int64_t position,
                 absl::Span<double> head) {
  if (attention.qk_norm != QkNorm::kNone) {
    const Vector normed = Norm(NormKind::kRmsNorm, eps, Vector(head.begin(), head.end()), norm, {});
    for (size_t j = 0; j < head.size(); ++j) head[j] = normed[j];
  }
  if (!attention.rope.has_value()) return;
  const size_t half = frequencies.size();
  for (size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies[i];
    const double cos = std::cos(angle) * rope->attention_factor();
    const double sin = std::sin(angle) * rope->attention_factor();
    const double a = head[i];
    const double b = head[i + half];
    head[i] = a * cos - b * sin;
    head[i + half] = b * cos + a * sin;
  }
}

// One query head over the keys and values of positions [0, count) of its key/value head, which
// begins at `offset`.
Vector AttendHead(const AttentionDescription& attention, absl::Span<const double> q, const Rows& k,
                  const Rows& v, size_t offset, size_t count) {
  Vector weights(count);
  double max = -INFINITY;
  double sum = 0;
  for (size_t t = 0; t < count; ++t) {
    double score = 0;
    for (size_t j = 0; j < q.size(); ++j) score += q[j] * k[t][offset + j];
    weights[t] = score * attention.scale;
    max = std::fmax(max, weights[t]);
  }
  for (double& weight : weights) sum += weight = std::exp(weight - max);
  Vector out(q.size());
  for (size_t t = 0; t < count; ++t) {
    for (size_t j = 0; j < q.size(); ++j) out[j] += weights[t] / sum * v[t][offset + j];
  }
  return out;
}

void Add(const Vector& x, Vector& y) {
  for (size_t j = 0; j < x.size(); ++j) y[j] += x[j];
}

absl::Status AddAttention(const DecoderDescription& description, const Weights& weights,
                          const RopeFrequencies* rope, int64_t layer, Rows& x) {
  const AttentionDescription& attention = description.layers[layer].attention;
  using Role = WeightRole;
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm, weights.Column(Role::kInputNorm, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm_bias, weights.Column(Role::kInputNormBias, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Rows q_proj, weights.Matrix(Role::kQProj, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector q_bias, weights.Column(Role::kQProjBias, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Rows k_proj, weights.Matrix(Role::kKProj, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector k_bias, weights.Column(Role::kKProjBias, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Rows v_proj, weights.Matrix(Role::kVProj, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector v_bias, weights.Column(Role::kVProjBias, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector q_norm, weights.Column(Role::kQNorm, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector k_norm, weights.Column(Role::kKNorm, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Rows o_proj, weights.Matrix(Role::kOProj, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector o_bias, weights.Column(Role::kOProjBias, layer));

  const size_t hd = attention.head_dim;
  const size_t group = attention.num_attention_heads / attention.num_key_value_heads;
  std::vector<float> frequencies(rope == nullptr ? 0 : rope->rotary_dim() / 2);
  if (rope != nullptr) rope->ForLength(static_cast<int64_t>(x.size()), absl::MakeSpan(frequencies));
  Rows k, v;
  for (size_t p = 0; p < x.size(); ++p) {
    const Vector normed = Norm(description.norm.kind, description.norm.eps, x[p], norm, norm_bias);
    Vector q = Linear(q_proj, q_bias, normed);
    k.push_back(Linear(k_proj, k_bias, normed));
    v.push_back(Linear(v_proj, v_bias, normed));
    for (size_t h = 0; h < k[p].size() / hd; ++h) {
      PrepareHead(attention, description.norm.eps, k_norm, rope, frequencies, p,
                  absl::MakeSpan(k[p]).subspan(h * hd, hd));
    }
    Vector heads;
    for (size_t h = 0; h < q.size() / hd; ++h) {
      const absl::Span<double> head = absl::MakeSpan(q).subspan(h * hd, hd);
      PrepareHead(attention, description.norm.eps, q_norm, rope, frequencies, p, head);
      const Vector out = AttendHead(attention, head, k, v, h / group * hd, p + 1);
      heads.insert(heads.end(), out.begin(), out.end());
    }
    Add(Linear(o_proj, o_bias, heads), x[p]);
  }
  return absl::OkStatus();
}

// One feed-forward network; `expert` is -1 for that of a layer without experts.
struct Network {
  static absl::StatusOr<Network> Load(const FeedForwardDescription& description,
                                      const Weights& weights, int64_t layer, int64_t expert) {
    using Role = WeightRole;
    Network network;
    network.description = &description;
    PHYLLO_ASSIGN_OR_RETURN(network.gate, weights.Matrix(Role::kGateProj, layer, expert));
    PHYLLO_ASSIGN_OR_RETURN(network.gate_bias, weights.Column(Role::kGateProjBias, layer, expert));
    PHYLLO_ASSIGN_OR_RETURN(network.up, weights.Matrix(Role::kUpProj, layer, expert));
    PHYLLO_ASSIGN_OR_RETURN(network.up_bias, weights.Column(Role::kUpProjBias, layer, expert));
    PHYLLO_ASSIGN_OR_RETURN(network.down, weights.Matrix(Role::kDownProj, layer, expert));
    PHYLLO_ASSIGN_OR_RETURN(network.down_bias, weights.Column(Role::kDownProjBias, layer, expert));
    return network;
  }

  Vector Run(const Vector& x) const {
    Vector inner = Linear(up, up_bias, x);
    const Vector gates = Linear(gate, gate_bias, x);
    for (size_t j = 0; j < inner.size(); ++j) {
      inner[j] = description->gated ? Act(description->activation, gates[j]) * inner[j]
                                    : Act(description->activation, inner[j]);
    }
    return Linear(down, down_bias, inner);
  }

  const FeedForwardDescription* description = nullptr;  // not null
  Rows gate, up, down;
  Vector gate_bias, up_bias, down_bias;
};

// The weight of every expert, shared ones behind the routed, for a row with these router logits; 0
// for those that were not chosen.
Vector ExpertWeights(const ExpertsDescription& experts, const Vector& logits) {
  double max = -INFINITY, sum = 0, chosen = 0;
  for (const double logit : logits) max = std::fmax(max, logit);
  for (const double logit : logits) sum += std::exp(logit - max);
  Vector weights(logits.size());
  for (int64_t k = 0; k < experts.num_experts_per_tok; ++k) {
    size_t best = logits.size();
    for (size_t i = 0; i < logits.size(); ++i) {
      if (weights[i] == 0 && (best == logits.size() || logits[i] > logits[best])) best = i;
    }
    chosen += weights[best] = std::exp(logits[best] - max) / sum;
  }
  for (double& weight : weights) weight /= experts.norm_topk_prob ? chosen : 1;
  weights.resize(logits.size() + experts.num_shared_experts, 1.0);
  return weights;
}

// x += feed_forward(norm(x)), row by row.
absl::Status AddFeedForward(const DecoderDescription& description, const Weights& weights,
                            int64_t layer, Rows& x) {
  const FeedForwardDescription& feed_forward = description.layers[layer].feed_forward;
  using Role = WeightRole;
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm, weights.Column(Role::kFeedForwardNorm, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm_bias,
                          weights.Column(Role::kFeedForwardNormBias, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Rows router, weights.Matrix(Role::kRouter, layer));
  std::vector<Network> networks;
  const int64_t count =
      feed_forward.experts.has_value()
          ? feed_forward.experts->num_experts + feed_forward.experts->num_shared_experts
          : 1;
  for (int64_t i = 0; i < count; ++i) {
    PHYLLO_ASSIGN_OR_RETURN(
        Network network,
        Network::Load(feed_forward, weights, layer, feed_forward.experts.has_value() ? i : -1));
    networks.push_back(std::move(network));
  }
  for (Vector& row : x) {
    const Vector normed = Norm(description.norm.kind, description.norm.eps, row, norm, norm_bias);
    if (!feed_forward.experts.has_value()) {
      Add(networks[0].Run(normed), row);
      continue;
    }
    const Vector expert_weights = ExpertWeights(*feed_forward.experts, Linear(router, {}, normed));
    for (size_t i = 0; i < networks.size(); ++i) {
      if (expert_weights[i] == 0) continue;
      Vector out = networks[i].Run(normed);
      for (double& value : out) value *= expert_weights[i];
      Add(out, row);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Rows> EmbedTokens(const DecoderDescription& description, const Weights& weights,
                                 absl::Span<const int32_t> token_ids) {
  PHYLLO_ASSIGN_OR_RETURN(const Rows tokens, weights.Matrix(WeightRole::kEmbedTokens, -1));
  PHYLLO_ASSIGN_OR_RETURN(const Rows positions, weights.Matrix(WeightRole::kEmbedPositions, -1));
  Rows x;
  for (size_t p = 0; p < token_ids.size(); ++p) {
    x.push_back(tokens[token_ids[p]]);
    for (double& value : x.back()) value *= description.embedding_scale;
    if (!positions.empty()) Add(positions[p], x.back());
  }
  return x;
}

}  // namespace

absl::StatusOr<std::vector<double>> ComputeReferenceLogits(const DecoderDescription& description,
                                                           const Checkpoint& checkpoint,
                                                           absl::Span<const int32_t> token_ids) {
  const Weights weights(description, checkpoint);
  const AttentionDescription& attention = description.layers[0].attention;
  std::vector<RopeFrequencies> rope;  // one or none
  if (description.positions == PositionKind::kRope) {
    PHYLLO_ASSIGN_OR_RETURN(
        RopeFrequencies frequencies,
        RopeFrequencies::Create(description.ropes[0].parameters, attention.head_dim,
                                description.max_position_embeddings));
    rope.push_back(std::move(frequencies));
  }
  PHYLLO_ASSIGN_OR_RETURN(Rows x, EmbedTokens(description, weights, token_ids));
  for (int64_t layer = 0; layer < description.num_hidden_layers(); ++layer) {
    PHYLLO_RETURN_IF_ERROR(
        AddAttention(description, weights, rope.empty() ? nullptr : &rope[0], layer, x));
    PHYLLO_RETURN_IF_ERROR(AddFeedForward(description, weights, layer, x));
  }
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm, weights.Column(WeightRole::kFinalNorm, -1));
  PHYLLO_ASSIGN_OR_RETURN(const Vector norm_bias, weights.Column(WeightRole::kFinalNormBias, -1));
  const WeightRole head_role =
      description.tie_word_embeddings ? WeightRole::kEmbedTokens : WeightRole::kLmHead;
  PHYLLO_ASSIGN_OR_RETURN(const Rows lm_head, weights.Matrix(head_role, -1));
  PHYLLO_ASSIGN_OR_RETURN(const Vector lm_head_bias, weights.Column(WeightRole::kLmHeadBias, -1));
  std::vector<double> logits;
  for (const Vector& row : x) {
    const Vector normed = Norm(description.norm.kind, description.norm.eps, row, norm, norm_bias);
    const Vector row_logits = Linear(lm_head, lm_head_bias, normed);
    logits.insert(logits.end(), row_logits.begin(), row_logits.end());
  }
  return logits;
}

}  // namespace phyllo
