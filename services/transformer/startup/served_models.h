// The models of a transformer service: the one it serves, and the one that drafts for it.
#ifndef PHYLLO_SERVICES_TRANSFORMER_STARTUP_SERVED_MODELS_H_
#define PHYLLO_SERVICES_TRANSFORMER_STARTUP_SERVED_MODELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/common/logger.h"
#include "services/transformer/draft_model/draft_model.h"
#include "services/transformer/engine/engine_options.h"
#include "services/transformer/local_step_model.h"
#include "services/transformer/memory/memory_needs.h"
#include "services/transformer/weights/model_cache.h"

namespace phyllo {

// Loaded and warm. The draft model computes with the threads of the model.
struct ServedModels {
  std::unique_ptr<LocalStepModel> model;
  DraftModel draft;  // of null pointers if there is none

  // Borrowed from the models.
  std::vector<LoadedWeights> weights() const;
};

// Loads the model of `options` and, if draft_folder is not empty, a draft model that shares its
// memory (SplitOffDraftModel), and computes a token with each. Errors of CheckSameTokens, before
// any weights are read, and of LocalStepModel::Load, LoadDraftModel and WarmUp.
absl::StatusOr<ServedModels> LoadServedModels(LocalStepModelOptions options,
                                              const std::string& draft_folder, Logger& logger);

// What the process may come to use, now that the models are loaded.
MemoryNeeds NeedsOf(const ServedModels& models, const EngineOptions& options,
                    int64_t max_transport_bytes);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_STARTUP_SERVED_MODELS_H_
