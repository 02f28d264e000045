#include "model/transformer/decoder_weights.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/tensor_view.h"
#include "model/config/weight_map.h"
#include "model/tensor/dtype.h"
#include "model/transformer/packing/tensor_packing.h"

// Invariants: CheckTensors has accepted the checkpoint before anything is packed, so that a bad
// file fails before memory is taken, with all that is wrong in one message. Memory of the arena is
// allocated in an order that depends on the description and the options only, and written nowhere
// but in the functions that look at filled_: a packed image takes their place.

namespace phyllo {
namespace {

// The parts of one fused matrix: the role of each part and of its bias.
struct Part {
  WeightRole weight;
  std::optional<WeightRole> bias;
};

std::optional<WeightRole> HeadRole(const DecoderDescription& description) {
  if (description.head != HeadKind::kLmHead) return std::nullopt;
  return description.tie_word_embeddings ? WeightRole::kEmbedTokens : WeightRole::kLmHead;
}

// Reads the weights of one checkpoint into the arena of `weights`.
class WeightLoader {
 public:
  // Memory that the arena holds ahead of its allocations is the packed weights already.
  WeightLoader(const DecoderDescription& description, const Checkpoint& checkpoint,
               const DecoderWeightsOptions& options, ThreadPool& pool, DecoderWeights& weights)
      : map_(BuildWeightMap(description)),
        head_role_(HeadRole(description)),
        checkpoint_(checkpoint),
        options_(options),
        pool_(pool),
        weights_(weights),
        filled_(!weights.arena.rest().empty()) {
    for (const WeightSpec& spec : map_.specs) {
      specs_.emplace(std::tuple(spec.role, spec.layer, spec.expert), &spec);
      if (IsWanted(spec)) total_bytes_ += FileBytes(spec);
    }
  }

  const ModelPrecision& precision() const { return options_.precision; }

  // The matrix that is lm_head; absent if the model has none.
  std::optional<WeightRole> head_role() const { return head_role_; }

  // Whether the checkpoint is as it should be, whole.
  absl::Status Check() const { return CheckTensors(map_, checkpoint_); }

  // `layer` is the index in the model, -1 outside the layers. Absent if the map does not hold
  // `weight`; without bias if it does not hold `bias` or that is absent.
  absl::StatusOr<std::optional<NormWeights>> LoadNorm(const NormDescription& description,
                                                      WeightRole weight,
                                                      std::optional<WeightRole> bias,
                                                      int64_t layer) {
    if (Find(weight, layer) == nullptr) return std::nullopt;
    PHYLLO_ASSIGN_OR_RETURN(const absl::Span<const float> values,
                            LoadVector(weight, layer, description.weight_offset));
    NormWeights norm = {.description = description, .weight = values};
    if (bias.has_value() && Find(*bias, layer) != nullptr) {
      PHYLLO_ASSIGN_OR_RETURN(norm.bias, LoadVector(*bias, layer, /*offset=*/0.0f));
    }
    return norm;
  }

  // The matrices of `parts` behind each other along their rows, with what biases the map holds.
  absl::StatusOr<PackedLinear> LoadLinear(absl::Span<const Part> parts, int64_t layer,
                                          Precision precision) {
    return LoadLinear(parts, layer, /*expert=*/-1, precision);
  }

  absl::StatusOr<FeedForwardWeights> LoadFeedForward(bool gated, int64_t layer,
                                                     int64_t expert = -1) {
    std::vector<Part> gate_up;
    if (gated) gate_up.push_back({WeightRole::kGateProj, WeightRole::kGateProjBias});
    gate_up.push_back({WeightRole::kUpProj, WeightRole::kUpProjBias});
    PHYLLO_ASSIGN_OR_RETURN(PackedLinear gate_up_proj,
                            LoadLinear(gate_up, layer, expert, options_.precision.feed_forward));
    PHYLLO_ASSIGN_OR_RETURN(PackedLinear down_proj,
                            LoadLinear({{WeightRole::kDownProj, WeightRole::kDownProjBias}}, layer,
                                       expert, options_.precision.feed_forward));
    return FeedForwardWeights{.gate_up_proj = std::move(gate_up_proj),
                              .down_proj = std::move(down_proj)};
  }

  absl::StatusOr<ExpertsWeights> LoadExperts(const FeedForwardDescription& feed_forward,
                                             int64_t layer) {
    const ExpertsDescription& description = *feed_forward.experts;
    PHYLLO_ASSIGN_OR_RETURN(PackedLinear router, LoadLinear({{WeightRole::kRouter, std::nullopt}},
                                                            layer, /*expert=*/-1, Precision::kF32));
    ExpertsWeights weights = {.rule = {.num_experts_per_tok = description.num_experts_per_tok,
                                       .norm_topk_prob = description.norm_topk_prob,
                                       .num_shared_experts = description.num_shared_experts},
                              .router = std::move(router),
                              .experts = {}};
    for (int64_t i = 0; i < description.num_experts + description.num_shared_experts; ++i) {
      PHYLLO_ASSIGN_OR_RETURN(FeedForwardWeights expert,
                              LoadFeedForward(feed_forward.gated, layer, i));
      weights.experts.push_back(std::move(expert));
    }
    return weights;
  }

 private:
  // The spec of that role, or null; in constant time, since 48 layers of 128 experts have 18432.
  const WeightSpec* Find(WeightRole role, int64_t layer, int64_t expert = -1) const {
    const auto found = specs_.find(std::tuple(role, layer, expert));
    return found == specs_.end() ? nullptr : found->second;
  }

  absl::StatusOr<PackedLinear> LoadLinear(absl::Span<const Part> parts, int64_t layer,
                                          int64_t expert, Precision precision) {
    int64_t out_features = 0;
    int64_t in_features = 0;
    for (const Part& part : parts) {
      const WeightSpec* const spec = Find(part.weight, layer, expert);
      if (spec == nullptr)
        return absl::InternalError(absl::StrCat("no weight ", WeightRoleName(part.weight)));
      out_features += spec->rows;
      in_features = spec->columns;
    }
    PHYLLO_ASSIGN_OR_RETURN(
        PackedLinear linear,
        PackedLinear::Create(
            {.in_features = in_features, .out_features = out_features, .precision = precision},
            *weights_.kernels, weights_.arena));
    if (!filled_) PHYLLO_RETURN_IF_ERROR(PackParts(parts, layer, expert, linear));
    return linear;
  }

  absl::Status PackParts(absl::Span<const Part> parts, int64_t layer, int64_t expert,
                         PackedLinear& linear) {
    int64_t row_begin = 0;
    for (const Part& part : parts) {
      const WeightSpec& spec = *Find(part.weight, layer, expert);
      PHYLLO_ASSIGN_OR_RETURN(const TensorView* const tensor, FindWeight(spec, checkpoint_));
      PHYLLO_RETURN_IF_ERROR(PackTensor(spec, *tensor, row_begin, pool_, linear));
      const WeightSpec* const bias =
          part.bias.has_value() ? Find(*part.bias, layer, expert) : nullptr;
      if (bias != nullptr) PHYLLO_RETURN_IF_ERROR(PackBias(*bias, row_begin, linear));
      ReportDone(spec);
      row_begin += spec.rows;
    }
    return absl::OkStatus();
  }

  // Every value plus `offset`. Requires that the map holds the role.
  absl::StatusOr<absl::Span<const float>> LoadVector(WeightRole role, int64_t layer, float offset) {
    const WeightSpec& spec = *Find(role, layer);
    PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> values,
                            weights_.arena.AllocateSpan<float>(spec.rows));
    if (filled_) return values;
    PHYLLO_ASSIGN_OR_RETURN(const TensorView* const tensor, FindWeight(spec, checkpoint_));
    ReadWeightRows(spec, *tensor, 0, values);
    if (offset != 0.0f) {
      for (float& value : values) value += offset;
    }
    ReportDone(spec);
    return values;
  }

  bool IsWanted(const WeightSpec& spec) const {
    if (spec.layer >= 0)
      return spec.layer >= options_.first_layer && spec.layer < options_.last_layer;
    if (!options_.head) return false;
    switch (spec.role) {
      case WeightRole::kFinalNorm:
      case WeightRole::kFinalNormBias:
        return true;
      case WeightRole::kLmHeadBias:
        return head_role_.has_value();
      default:
        return spec.role == head_role_;
    }
  }

  int64_t FileBytes(const WeightSpec& spec) const {
    const absl::StatusOr<const TensorView*> tensor = FindWeight(spec, checkpoint_);
    return tensor.ok() ? RunBytes((*tensor)->dtype, spec.rows * spec.columns) : 0;
  }

  absl::Status PackBias(const WeightSpec& spec, int64_t row_begin, PackedLinear& linear) {
    PHYLLO_ASSIGN_OR_RETURN(const TensorView* const tensor, FindWeight(spec, checkpoint_));
    std::vector<float> bias(spec.rows);
    ReadWeightRows(spec, *tensor, 0, absl::MakeSpan(bias));
    ReportDone(spec);
    return linear.PackBias(row_begin, bias);
  }

  void ReportDone(const WeightSpec& spec) {
    done_bytes_ += FileBytes(spec);
    if (options_.progress) options_.progress(done_bytes_, total_bytes_);
  }

  const WeightMap map_;
  const std::optional<WeightRole> head_role_;
  const Checkpoint& checkpoint_;
  const DecoderWeightsOptions& options_;
  ThreadPool& pool_;
  DecoderWeights& weights_;
  const bool filled_;
  // By role, layer and expert.
  absl::flat_hash_map<std::tuple<WeightRole, int64_t, int64_t>, const WeightSpec*> specs_;
  int64_t done_bytes_ = 0;
  int64_t total_bytes_ = 0;
};

absl::StatusOr<LayerWeights> LoadLayer(const DecoderDescription& description, int64_t layer,
                                       WeightLoader& loader) {
  using Role = WeightRole;
  const LayerDescription& layer_description = description.layers[layer];
  const auto load_norm = [&](Role weight, std::optional<Role> bias = std::nullopt) {
    return loader.LoadNorm(description.norm, weight, bias, layer);
  };
  // The norms of q and k are RMSNorms even where those of the residual stream are not.
  const auto load_head_norm = [&](Role weight) {
    NormDescription norm = description.norm;
    norm.kind = NormKind::kRmsNorm;
    return loader.LoadNorm(norm, weight, std::nullopt, layer);
  };
  PHYLLO_ASSIGN_OR_RETURN(auto input_norm, load_norm(Role::kInputNorm, Role::kInputNormBias));
  PHYLLO_ASSIGN_OR_RETURN(PackedLinear qkv_proj,
                          loader.LoadLinear({{Role::kQProj, Role::kQProjBias},
                                             {Role::kKProj, Role::kKProjBias},
                                             {Role::kVProj, Role::kVProjBias}},
                                            layer, loader.precision().attention));
  PHYLLO_ASSIGN_OR_RETURN(auto q_norm, load_head_norm(Role::kQNorm));
  PHYLLO_ASSIGN_OR_RETURN(auto k_norm, load_head_norm(Role::kKNorm));
  PHYLLO_ASSIGN_OR_RETURN(
      PackedLinear o_proj,
      loader.LoadLinear({{Role::kOProj, Role::kOProjBias}}, layer, loader.precision().attention));
  PHYLLO_ASSIGN_OR_RETURN(auto attention_output_norm, load_norm(Role::kAttentionOutputNorm));
  PHYLLO_ASSIGN_OR_RETURN(auto feed_forward_norm,
                          load_norm(Role::kFeedForwardNorm, Role::kFeedForwardNormBias));
  const FeedForwardDescription& description_of_feed_forward = layer_description.feed_forward;
  std::optional<FeedForwardWeights> feed_forward;
  std::optional<ExpertsWeights> experts;
  if (description_of_feed_forward.experts.has_value()) {
    PHYLLO_ASSIGN_OR_RETURN(experts, loader.LoadExperts(description_of_feed_forward, layer));
  } else {
    PHYLLO_ASSIGN_OR_RETURN(feed_forward,
                            loader.LoadFeedForward(description_of_feed_forward.gated, layer));
  }
  PHYLLO_ASSIGN_OR_RETURN(auto feed_forward_output_norm, load_norm(Role::kFeedForwardOutputNorm));
  return LayerWeights{.description = layer_description,
                      .residual_multiplier = description.residual_multiplier,
                      .input_norm = input_norm,
                      .qkv_proj = std::move(qkv_proj),
                      .q_norm = q_norm,
                      .k_norm = k_norm,
                      .o_proj = std::move(o_proj),
                      .attention_output_norm = attention_output_norm,
                      .feed_forward_norm = feed_forward_norm,
                      .feed_forward = std::move(feed_forward),
                      .experts = std::move(experts),
                      .feed_forward_output_norm = feed_forward_output_norm};
}

absl::StatusOr<HeadWeights> LoadHead(const DecoderDescription& description, WeightLoader& loader) {
  PHYLLO_ASSIGN_OR_RETURN(const std::optional<NormWeights> final_norm,
                          loader.LoadNorm(description.norm, WeightRole::kFinalNorm,
                                          WeightRole::kFinalNormBias, /*layer=*/-1));
  if (!final_norm.has_value()) return absl::InternalError("no weight of the final norm");
  HeadWeights head = {.final_norm = *final_norm, .lm_head = std::nullopt};
  if (loader.head_role().has_value()) {
    PHYLLO_ASSIGN_OR_RETURN(head.lm_head,
                            loader.LoadLinear({{*loader.head_role(), WeightRole::kLmHeadBias}},
                                              /*layer=*/-1, loader.precision().lm_head));
  }
  return head;
}

// Allocates all weights in `arena`, and packs them unless it is filled with them.
absl::StatusOr<DecoderWeights> Build(const DecoderDescription& description,
                                     const Checkpoint& checkpoint,
                                     const DecoderWeightsOptions& options, ThreadPool& pool,
                                     HugePageArena arena) {
  DecoderWeights weights;
  weights.kernels = std::make_unique<LinearKernels>();
  weights.arena = std::move(arena);
  WeightLoader loader(description, checkpoint, options, pool, weights);
  PHYLLO_RETURN_IF_ERROR(loader.Check());
  weights.layers.reserve(options.last_layer - options.first_layer);
  for (int64_t layer = options.first_layer; layer < options.last_layer; ++layer) {
    PHYLLO_ASSIGN_OR_RETURN(LayerWeights layer_weights, LoadLayer(description, layer, loader));
    weights.layers.push_back(std::move(layer_weights));
  }
  if (options.head) {
    PHYLLO_ASSIGN_OR_RETURN(weights.head, LoadHead(description, loader));
  }
  return weights;
}

absl::StatusOr<DecoderWeights> BuildFromImage(const DecoderDescription& description,
                                              const Checkpoint& checkpoint,
                                              const DecoderWeightsOptions& options,
                                              ThreadPool& pool) {
  if (options.image == nullptr) return absl::FailedPreconditionError("no packed image is used");
  PHYLLO_ASSIGN_OR_RETURN(PackedImage::Contents contents,
                          options.image->Read(pool, options.image_progress));
  PHYLLO_ASSIGN_OR_RETURN(DecoderWeights weights,
                          Build(description, checkpoint, options, pool, std::move(contents.arena)));
  if (weights.arena.bytes() != contents.image_bytes) {
    return absl::DataLossError(absl::StrCat("the packed image has ", contents.image_bytes,
                                            " bytes, the model's weights take ",
                                            weights.arena.bytes()));
  }
  weights.shared = contents.shared;
  return weights;
}

}  // namespace

absl::StatusOr<DecoderWeights> DecoderWeights::Load(const DecoderDescription& description,
                                                    const Checkpoint& checkpoint,
                                                    const DecoderWeightsOptions& options,
                                                    ThreadPool& pool) {
  absl::StatusOr<DecoderWeights> from_image =
      BuildFromImage(description, checkpoint, options, pool);
  if (from_image.ok()) return from_image;
  // A status only: of an image that does not fit, no memory is left when packing begins.
  const absl::Status image_status = from_image.status();
  PHYLLO_ASSIGN_OR_RETURN(DecoderWeights weights,
                          Build(description, checkpoint, options, pool, HugePageArena()));
  weights.image_status = image_status;
  return weights;
}

}  // namespace phyllo
