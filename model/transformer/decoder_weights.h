// The weights of a range of decoder layers, packed once at load.
#ifndef PHYLLO_MODEL_TRANSFORMER_DECODER_WEIGHTS_H_
#define PHYLLO_MODEL_TRANSFORMER_DECODER_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/onednn/linear_kernels.h"
#include "model/onednn/packed_linear.h"
#include "model/ops/experts/expert_routing.h"
#include "model/packed_cache/packed_image.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// A norm. Spans lie in the arena of DecoderWeights.
struct NormWeights {
  NormDescription description;
  absl::Span<const float> weight = {};  // [n] values, n = d for the residual stream; weight_offset
                                        // is added already
  absl::Span<const float> bias = {};    // [n], or empty
};

// A feed-forward network, or an expert.
struct FeedForwardWeights {
  PackedLinear gate_up_proj;  // gate, up: [2 * intermediate_size, d]; if not gated only up:
                              // [intermediate_size, d]
  PackedLinear down_proj;     // [d, intermediate_size]
};

struct ExpertsWeights {
  RoutingRule rule;
  PackedLinear router;  // [num_experts, d], f32 always (feed_forward/feed_forward.h says why)
  std::vector<FeedForwardWeights> experts;  // [num_experts], then [num_shared_experts]
};

// One layer. Projections that share their input are one matrix, their rows behind each other. Norms
// are there where the description says so.
struct LayerWeights {
  LayerDescription description;
  float residual_multiplier = 1.0f;
  std::optional<NormWeights> input_norm;
  PackedLinear qkv_proj;              // q, k, v: [(h + 2 kv) * hd, d]
  std::optional<NormWeights> q_norm;  // [hd]: of each head; [h * hd]: of the projection
  std::optional<NormWeights> k_norm;  // [hd] or [kv * hd]
  PackedLinear o_proj;                // [d, h * hd]
  std::optional<NormWeights> attention_output_norm;
  std::optional<NormWeights> feed_forward_norm;
  std::optional<FeedForwardWeights> feed_forward;  // this,
  std::optional<ExpertsWeights> experts;           // or this
  std::optional<NormWeights> feed_forward_output_norm;
};

// What stands behind the last layer.
struct HeadWeights {
  NormWeights final_norm;
  std::optional<PackedLinear> lm_head;  // [v, d]; absent unless HeadKind::kLmHead
};

struct DecoderWeightsOptions {
  ModelPrecision precision = {};
  int64_t first_layer = 0;  // layers [first_layer, last_layer)
  int64_t last_layer = 0;
  bool head = true;  // load the final norm and, if the model has one, lm_head
  // If set, called after each tensor with the bytes of the checkpoint done and to do.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;
  // If not null, the packed weights of an earlier Load with equal options and an equal checkpoint,
  // which the image's key says. Borrowed.
  const PackedImage* image = nullptr;
  // If set, called while the image is read, with its bytes done and to do.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> image_progress = nullptr;
};

// Owns the memory all spans and matrices above lie in. Movable; immutable after Load, hence
// thread-safe.
struct DecoderWeights {
  // Packs straight from the memory map, on all threads of the pool: beside the packed weights there
  // is no copy but of the one panel that each thread dequantises, if the file has block types.
  // Takes them from options.image instead if that is as it should be; image_status says why if not.
  // Requires 0 <= first_layer <= last_layer <= num_hidden_layers. INVALID_ARGUMENT lists the
  // tensors that are missing, superfluous or mis-shaped; FAILED_PRECONDITION when this CPU has no
  // kernels for the precision; RESOURCE_EXHAUSTED when memory runs out.
  static absl::StatusOr<DecoderWeights> Load(const DecoderDescription& description,
                                             const Checkpoint& checkpoint,
                                             const DecoderWeightsOptions& options,
                                             ThreadPool& pool);

  std::unique_ptr<LinearKernels> kernels;
  HugePageArena arena;
  // OK if the arena holds the image; else why it does not. FAILED_PRECONDITION without an image.
  absl::Status image_status;
  bool shared = false;  // the arena is a map of the image's file, whose memory is the page cache's
  std::vector<LayerWeights> layers;  // [last_layer - first_layer]
  std::optional<HeadWeights> head;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_DECODER_WEIGHTS_H_
