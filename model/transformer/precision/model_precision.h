// The precision of each module of a model, and the text that says it (--precision).
//   PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice choice,
//                           ParsePrecisionChoice("int8,lm_head=bf16,kv_cache=int8"));
//   const ModelPrecision precision = choice.Resolve(AutomaticPrecision(*checkpoint));
#ifndef PHYLLO_MODEL_TRANSFORMER_PRECISION_MODEL_PRECISION_H_
#define PHYLLO_MODEL_TRANSFORMER_PRECISION_MODEL_PRECISION_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"
#include "model/tensor/linear_input.h"

namespace phyllo {

// "f32", "bf16", "int8" or "int4".
const char* PrecisionName(Precision precision);

// The residual stream, norms, softmax, the router of experts and the logits are f32 in every one.
// A value type.
struct ModelPrecision {
  Precision attention = Precision::kF32;     // q_proj, k_proj, v_proj, o_proj
  Precision feed_forward = Precision::kF32;  // gate_proj, up_proj, down_proj, of all experts, too
  Precision lm_head = Precision::kF32;
  Precision kv_cache = Precision::kF32;  // kF32, kBf16 or kInt8

  // What one name for all modules means: itself for every matrix, but int8 for the head of int4;
  // and a KV cache in bf16, in f32 beside f32.
  static ModelPrecision Of(Precision base);

  // The text that reads as this: the precision of feed_forward, and behind it the modules that
  // differ from what Of() makes of that one. "int8", "int4,attention=bf16,kv_cache=int8". Equal
  // values have equal texts.
  std::string ToString() const;

  friend bool operator==(const ModelPrecision& a, const ModelPrecision& b) {
    return a.attention == b.attention && a.feed_forward == b.feed_forward &&
           a.lm_head == b.lm_head && a.kv_cache == b.kv_cache;
  }
  friend bool operator!=(const ModelPrecision& a, const ModelPrecision& b) { return !(a == b); }
};

// What was asked for, before the checkpoint is known. A value type.
struct PrecisionChoice {
  std::optional<Precision> base = std::nullopt;  // absent: auto
  // Absent: what ModelPrecision::Of() makes of the base.
  std::optional<Precision> attention = std::nullopt;
  std::optional<Precision> feed_forward = std::nullopt;
  std::optional<Precision> lm_head = std::nullopt;
  std::optional<Precision> kv_cache = std::nullopt;

  // `automatic` is what auto means: AutomaticPrecision() of the checkpoint.
  ModelPrecision Resolve(Precision automatic) const;
};

// Reads "BASE" or "BASE,MODULE=PRECISION,...": BASE is auto, f32, bf16, int8 or int4, MODULE
// attention, feed_forward, lm_head (of f32, bf16, int8, int4) or kv_cache (of f32, bf16, int8).
// INVALID_ARGUMENT names the part that is wrong and what may stand there.
absl::StatusOr<PrecisionChoice> ParsePrecisionChoice(absl::string_view text);

// What `auto` means: bf16 if no matrix of the checkpoint has more than 16 bits an element, else
// f32. Never int8 or int4, which change tokens: those must be asked for.
Precision AutomaticPrecision(const Checkpoint& checkpoint);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_PRECISION_MODEL_PRECISION_H_
