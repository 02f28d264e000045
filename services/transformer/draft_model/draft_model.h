// The small model that drafts for the one that is served.
#ifndef PHYLLO_SERVICES_TRANSFORMER_DRAFT_MODEL_DRAFT_MODEL_H_
#define PHYLLO_SERVICES_TRANSFORMER_DRAFT_MODEL_DRAFT_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/transformer/engine/speculation/model_drafter.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {

struct DraftModel {
  std::unique_ptr<LocalStepModel> model;
  std::unique_ptr<ModelDrafter> drafter;  // borrows the model
};

// Makes room for a draft model: `options` of the model that is served, which say what memory there
// is for both, keep three quarters of it. Returns the draft model's: the same, but for the folder,
// the rest of the memory, and automatic precision.
LocalStepModelOptions SplitOffDraftModel(const std::string& draft_folder,
                                         LocalStepModelOptions& options);

// INVALID_ARGUMENT unless both models' tokens are the same: the texts of their tokenizers if both
// have a tokenizer.json (then the sizes of the vocabularies may differ, which some families pad),
// else the sizes. Reads no weights. Errors of ReadModelFile and ParseModelConfig.
absl::Status CheckSameTokens(const std::string& folder, const std::string& draft_folder);

// Loads the draft model of `target`, whose threads it computes with and whose tokens it must have
// (CheckSameTokens). Errors of LocalStepModel::Load and ModelDrafter::Create.
absl::StatusOr<DraftModel> LoadDraftModel(LocalStepModelOptions options, LocalStepModel& target);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_DRAFT_MODEL_DRAFT_MODEL_H_
