// Model folders small enough to think about: two layers of a few units, random weights, one for
// each thing that can differ.
#ifndef PHYLLO_MODEL_TRANSFORMER_TESTING_TOY_MODELS_H_
#define PHYLLO_MODEL_TRANSFORMER_TESTING_TOY_MODELS_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"

namespace phyllo {

struct ToyModel {
  std::string name;    // letters and digits: a test's name
  std::string config;  // the text of config.json
  // If set, makes of that model one that no family is: to have one thing by itself.
  std::function<void(DecoderDescription& decoder)> change = nullptr;
};

// For GoogleTest's messages.
inline void PrintTo(const ToyModel& model, std::ostream* out) { *out << model.name; }

// All of them: norms in every place, biases, tied or not, MHA, GQA, MQA, gated or not, every
// activation, RoPE types, layouts and parts, learned positions, windows, soft caps, multipliers,
// both residual forms, layers that differ, experts (with a dense layer among them, shared ones,
// many and few). Sizes are odd where they may be; Gpt2Relu has matrices, stored [in, out], of more
// rows than one task packs.
std::vector<ToyModel> ToyModels();

// Of them as many as have every kind of weight: biases, matrices that are stored [in, out], own and
// tied heads, norms in every place and with an offset, experts, layers that differ.
std::vector<ToyModel> ToyModelsOfEveryWeight();

// The one of that name. Requires that there is one.
ToyModel FindToyModel(absl::string_view name);

// The model's config, changed. Errors: those of ParseModelConfig.
absl::StatusOr<ModelConfig> ToyConfig(const ToyModel& model);

// Writes config.json, which knows nothing of `change`, and model.safetensors (F32, seeded, norm
// weights around 1) to a folder of the test's own and returns its path.
absl::StatusOr<std::string> WriteToyModel(const ToyModel& model);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_TESTING_TOY_MODELS_H_
