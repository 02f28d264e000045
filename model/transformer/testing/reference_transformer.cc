#include "model/transformer/testing/reference_transformer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

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

// A norm whose weight is absent leaves x as it is.
Vector Norm(NormKind kind, double eps, const Vector& x, const Vector& weight, const Vector& bias) {
  if (weight.empty()) return x;
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

// RMSNorm of x in pieces as long as the weight: of each head, or of the whole projection.
void NormPieces(double eps, const Vector& weight, Vector& x) {
  if (weight.empty()) return;
  for (auto piece = x.begin(); piece != x.end(); piece += weight.size()) {
    const Vector normed =
        Norm(NormKind::kRmsNorm, eps, Vector(piece, piece + weight.size()), weight, {});
    std::copy(normed.begin(), normed.end(), piece);
  }
}

// One way to rotate, for a sequence of one length.
struct Rotation {
  RopeLayout layout;
  double attention_factor;
  std::vector<float> frequencies;  // [rotary_dim / 2]

  // Every head [hd] of x, at `position`, in place.
  void Apply(int64_t position, size_t hd, Vector& x) const {
    const size_t half = frequencies.size();
    for (size_t head = 0; head < x.size(); head += hd) {
      for (size_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(position) * frequencies[i];
        const double cos = std::cos(angle) * attention_factor;
        const double sin = std::sin(angle) * attention_factor;
        const bool halves = layout == RopeLayout::kHalves;
        double& first = x[head + (halves ? i : 2 * i)];
        double& second = x[head + (halves ? i + half : 2 * i + 1)];
        const double a = first;
        const double b = second;
        first = a * cos - b * sin;
        second = b * cos + a * sin;
      }
    }
  }
};

double SoftCap(double x, double cap) { return cap == 0 ? x : cap * std::tanh(x / cap); }

// One query head at position count - 1 over the keys and values that it sees of its key/value head,
// which begins at `offset`.
Vector AttendHead(const AttentionDescription& attention, absl::Span<const double> q, const Rows& k,
                  const Rows& v, size_t offset, size_t count) {
  const size_t window = std::min<size_t>(attention.sliding_window.value_or(count), count);
  const size_t begin = count - window;
  Vector weights(count);
  double max = -INFINITY;
  double sum = 0;
  for (size_t t = begin; t < count; ++t) {
    double score = 0;
    for (size_t j = 0; j < q.size(); ++j) score += q[j] * k[t][offset + j];
    weights[t] = SoftCap(score * attention.scale, attention.soft_cap);
    max = std::fmax(max, weights[t]);
  }
  for (size_t t = begin; t < count; ++t) sum += weights[t] = std::exp(weights[t] - max);
  Vector out(q.size());
  for (size_t t = begin; t < count; ++t) {
    for (size_t j = 0; j < q.size(); ++j) out[j] += weights[t] / sum * v[t][offset + j];
  }
  return out;
}

void Add(const Vector& x, Vector& y) {
  for (size_t j = 0; j < x.size(); ++j) y[j] += x[j];
}

// Every row of x through a norm of the residual stream; as it is if the model has no such norm.
absl::StatusOr<Rows> NormRows(const NormDescription& norm, const Weights& weights, WeightRole role,
                              std::optional<WeightRole> bias_role, int64_t layer, Rows x) {
  PHYLLO_ASSIGN_OR_RETURN(Vector weight, weights.Column(role, layer));
  Vector bias;
  if (bias_role.has_value()) {
    PHYLLO_ASSIGN_OR_RETURN(bias, weights.Column(*bias_role, layer));
  }
  for (double& value : weight) value += norm.weight_offset;
  for (Vector& row : x) row = Norm(norm.kind, norm.eps, row, weight, bias);
  return x;
}

absl::StatusOr<Rows> LinearRows(const Weights& weights, WeightRole role, WeightRole bias_role,
                                int64_t layer, const Rows& x) {
  PHYLLO_ASSIGN_OR_RETURN(const Rows weight, weights.Matrix(role, layer));
  PHYLLO_ASSIGN_OR_RETURN(const Vector bias, weights.Column(bias_role, layer));
  Rows y;
  for (const Vector& row : x) y.push_back(Linear(weight, bias, row));
  return y;
}

// o_proj(attention(q, k, v of y)).
absl::StatusOr<Rows> RunAttention(const DecoderDescription& description, const Weights& weights,
                                  const std::vector<Rotation>& rotations, int64_t layer,
                                  const Rows& y) {
  const AttentionDescription& attention = description.layers[layer].attention;
  using Role = WeightRole;
  PHYLLO_ASSIGN_OR_RETURN(Rows q, LinearRows(weights, Role::kQProj, Role::kQProjBias, layer, y));
  PHYLLO_ASSIGN_OR_RETURN(Rows k, LinearRows(weights, Role::kKProj, Role::kKProjBias, layer, y));
  PHYLLO_ASSIGN_OR_RETURN(Rows v, LinearRows(weights, Role::kVProj, Role::kVProjBias, layer, y));
  PHYLLO_ASSIGN_OR_RETURN(Vector q_norm, weights.Column(Role::kQNorm, layer));
  PHYLLO_ASSIGN_OR_RETURN(Vector k_norm, weights.Column(Role::kKNorm, layer));
  for (double& value : q_norm) value += description.norm.weight_offset;
  for (double& value : k_norm) value += description.norm.weight_offset;

  const size_t hd = attention.head_dim;
  const size_t group = attention.num_attention_heads / attention.num_key_value_heads;
  Rows heads;
  for (size_t p = 0; p < y.size(); ++p) {
    NormPieces(description.norm.eps, q_norm, q[p]);
    NormPieces(description.norm.eps, k_norm, k[p]);
    if (attention.rope.has_value()) {
      rotations[*attention.rope].Apply(p, hd, q[p]);
      rotations[*attention.rope].Apply(p, hd, k[p]);
    }
    heads.emplace_back();
    for (size_t h = 0; h < q[p].size() / hd; ++h) {
      const Vector out = AttendHead(attention, absl::MakeConstSpan(q[p]).subspan(h * hd, hd), k, v,
                                    h / group * hd, p + 1);
      heads.back().insert(heads.back().end(), out.begin(), out.end());
    }
  }
  return LinearRows(weights, Role::kOProj, Role::kOProjBias, layer, heads);
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

// The feed-forward half of every row of y.
absl::StatusOr<Rows> RunFeedForward(const DecoderDescription& description, const Weights& weights,
                                    int64_t layer, const Rows& y) {
  const FeedForwardDescription& feed_forward = description.layers[layer].feed_forward;
  if (!feed_forward.experts.has_value()) {
    PHYLLO_ASSIGN_OR_RETURN(const Network network,
                            Network::Load(feed_forward, weights, layer, /*expert=*/-1));
    Rows result;
    for (const Vector& row : y) result.push_back(network.Run(row));
    return result;
  }
  PHYLLO_ASSIGN_OR_RETURN(const Rows router, weights.Matrix(WeightRole::kRouter, layer));
  Rows result(y.size(), Vector(description.hidden_size));
  const ExpertsDescription& experts = *feed_forward.experts;
  for (int64_t i = 0; i < experts.num_experts + experts.num_shared_experts; ++i) {
    PHYLLO_ASSIGN_OR_RETURN(const Network network, Network::Load(feed_forward, weights, layer, i));
    for (size_t p = 0; p < y.size(); ++p) {
      const double weight = ExpertWeights(experts, Linear(router, {}, y[p]))[i];
      if (weight == 0) continue;
      Vector out = network.Run(y[p]);
      for (double& value : out) value *= weight;
      Add(out, result[p]);
    }
  }
  return result;
}

// The decoder layer as decoder_description.h states it, on x in place.
absl::Status RunLayer(const DecoderDescription& description, const Weights& weights,
                      const std::vector<Rotation>& rotations, int64_t layer, Rows& x) {
  using Role = WeightRole;
  const auto norm = [&](Role role, std::optional<Role> bias, const Rows& rows) {
    return NormRows(description.norm, weights, role, bias, layer, rows);
  };
  const auto add = [&](const Rows& half) {
    for (size_t p = 0; p < x.size(); ++p) {
      for (size_t j = 0; j < x[p].size(); ++j)
        x[p][j] += description.residual_multiplier * half[p][j];
    }
  };
  const LayerDescription& parts = description.layers[layer];
  PHYLLO_ASSIGN_OR_RETURN(const Rows input, norm(Role::kInputNorm, Role::kInputNormBias, x));
  PHYLLO_ASSIGN_OR_RETURN(Rows half, RunAttention(description, weights, rotations, layer, input));
  PHYLLO_ASSIGN_OR_RETURN(half, norm(Role::kAttentionOutputNorm, std::nullopt, half));
  if (parts.residual == ResidualForm::kSequential) add(half);
  Rows feed_forward_input = input;
  if (parts.residual == ResidualForm::kSequential || parts.feed_forward_norm) {
    PHYLLO_ASSIGN_OR_RETURN(feed_forward_input,
                            norm(Role::kFeedForwardNorm, Role::kFeedForwardNormBias, x));
  }
  if (parts.residual == ResidualForm::kParallel) add(half);
  PHYLLO_ASSIGN_OR_RETURN(half, RunFeedForward(description, weights, layer, feed_forward_input));
  PHYLLO_ASSIGN_OR_RETURN(half, norm(Role::kFeedForwardOutputNorm, std::nullopt, half));
  add(half);
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
  std::vector<Rotation> rotations;
  for (const RopeDescription& rope : description.ropes) {
    PHYLLO_ASSIGN_OR_RETURN(const RopeFrequencies frequencies,
                            RopeFrequencies::Create(rope.parameters, rope.rotary_dim,
                                                    description.max_position_embeddings));
    rotations.push_back(
        {rope.layout, frequencies.attention_factor(), std::vector<float>(rope.rotary_dim / 2)});
    frequencies.ForLength(static_cast<int64_t>(token_ids.size()),
                          absl::MakeSpan(rotations.back().frequencies));
  }
  PHYLLO_ASSIGN_OR_RETURN(Rows x, EmbedTokens(description, weights, token_ids));
  for (int64_t layer = 0; layer < description.num_hidden_layers(); ++layer)
    PHYLLO_RETURN_IF_ERROR(RunLayer(description, weights, rotations, layer, x));
  PHYLLO_ASSIGN_OR_RETURN(x, NormRows(description.norm, weights, WeightRole::kFinalNorm,
                                      WeightRole::kFinalNormBias, -1, x));
  const WeightRole head_role =
      description.tie_word_embeddings ? WeightRole::kEmbedTokens : WeightRole::kLmHead;
  PHYLLO_ASSIGN_OR_RETURN(const Rows rows,
                          LinearRows(weights, head_role, WeightRole::kLmHeadBias, -1, x));
  std::vector<double> logits;
  for (const Vector& row : rows) {
    for (const double logit : row)
      logits.push_back(SoftCap(logit / description.logits_divisor, description.logits_soft_cap));
  }
  return logits;
}

}  // namespace phyllo
