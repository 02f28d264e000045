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

// INVALID_ARGUMENT unless both folders' tokens are the same: the digests of their tokenizers if
// both have a tokenizer.json (then the sizes of the vocabularies may differ, which some families
// pad), else the sizes.
absl::Status CheckSameTokens(const std::string& folder, const LocalStepModel& model,
                             const std::string& draft_folder, const LocalStepModel& draft_model);

// Loads the draft model of `target`, which was loaded from target_folder and whose threads it
// computes with. Errors of LocalStepModel::Load, CheckSameTokens and ModelDrafter::Create.
absl::StatusOr<DraftModel> LoadDraftModel(LocalStepModelOptions options,
                                          const std::string& target_folder, LocalStepModel& target);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_DRAFT_MODEL_DRAFT_MODEL_H_
