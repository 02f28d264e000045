// What the transformer service says of its model, and how it tries it out before it serves.
#ifndef PHYLLO_SERVICES_TRANSFORMER_MODEL_INFO_H_
#define PHYLLO_SERVICES_TRANSFORMER_MODEL_INFO_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/config/generation_config.h"
#include "phyllo/transformer/v1/transformer.pb.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {

// The ids that end a generation.
std::vector<int32_t> EosTokenIds(const LocalStepModel& model);

// The answer to GetInfo but for `server`.
transformer::v1::GetInfoResponse DescribeModel(const LocalStepModel& model,
                                               const SequenceLimits& limits);

// problem_type of config.json; unspecified if it is empty or unknown.
common::v1::ProblemType ToProblemType(absl::string_view text);

// The defaults that generation_config.json gives: only what it says. do_sample false is temperature
// 0; top_k 0 is all.
common::v1::SamplingParameters DefaultSampling(const GenerationConfig& config);

// Computes token 0. INTERNAL if its logits, or without LM head its final hidden state, are not
// finite, else the model's errors.
absl::Status WarmUp(StepModel& model);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_MODEL_INFO_H_
