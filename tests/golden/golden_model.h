// A folder of tests/golden/data/models: what a public reference implementation computed from the
// model in it.
#ifndef PHYLLO_TESTS_GOLDEN_GOLDEN_MODEL_H_
#define PHYLLO_TESTS_GOLDEN_GOLDEN_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/checkpoint.h"

namespace phyllo {

// tests/golden/data/models/README.md names the tensors. Owns their map. Immutable, hence
// thread-safe.
class GoldenModel {
 public:
  // NOT_FOUND or INVALID_ARGUMENT when the folder has no readable golden.json and
  // golden.safetensors.
  static absl::StatusOr<std::unique_ptr<GoldenModel>> Open(const std::string& directory);

  // The folder, which is the model's too.
  const std::string& directory() const { return directory_; }
  // Standard deviation of the reference's logits: the unit of the two errors below.
  double logits_std() const { return logits_std_; }
  // Largest error of an f32 logit: ten times the reference's own noise.
  double tolerance_rel() const { return tolerance_rel_; }
  // The noise of the reference's hidden states, relative to their standard deviation.
  double hidden_noise_rel() const { return hidden_noise_rel_; }
  // How far torch itself is off when it computes in bf16; 0 where it was not measured.
  double bf16_compute_rel() const { return bf16_compute_rel_; }

  // Whether a tensor of that name exists.
  bool Has(absl::string_view name) const { return tensors_->Find(name) != nullptr; }
  // The elements of an F32 or I64 tensor, row-major; empty if there is none of that name and type.
  std::vector<float> Floats(absl::string_view name) const;
  std::vector<int32_t> Ids(absl::string_view name) const;

 private:
  GoldenModel() = default;

  std::string directory_;
  std::unique_ptr<Checkpoint> tensors_;
  double logits_std_ = 0;
  double tolerance_rel_ = 0;
  double hidden_noise_rel_ = 0;
  double bf16_compute_rel_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_TESTS_GOLDEN_GOLDEN_MODEL_H_
