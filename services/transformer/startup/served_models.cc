#include "services/transformer/startup/served_models.h"

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "model/base/status_macros.h"
#include "services/common/message_limits.h"
#include "services/transformer/model_info.h"

namespace phyllo {
namespace {

LoadedWeights WeightsOf(std::string name, const LocalStepModel& model) {
  return {.model = std::move(name),
          .cache = &model.cache(),
          .image_status = model.weights().image_status,
          .shared = model.weights().shared,
          .arena = &model.weights().arena};
}

}  // namespace

std::vector<LoadedWeights> ServedModels::weights() const {
  std::vector<LoadedWeights> weights = {WeightsOf("model", *model)};
  if (draft.model != nullptr) weights.push_back(WeightsOf("draft_model", *draft.model));
  return weights;
}

absl::StatusOr<ServedModels> LoadServedModels(LocalStepModelOptions options,
                                              const std::string& draft_folder, Logger& logger) {
  ServedModels models;
  std::optional<LocalStepModelOptions> draft_options;
  if (!draft_folder.empty()) {
    PHYLLO_RETURN_IF_ERROR(CheckSameTokens(options.model_folder, draft_folder));
    draft_options = SplitOffDraftModel(draft_folder, options);
  }
  PHYLLO_ASSIGN_OR_RETURN(models.model, LocalStepModel::Load(options));
  PHYLLO_RETURN_IF_ERROR(WarmUp(*models.model));
  if (!draft_options) return models;
  PHYLLO_ASSIGN_OR_RETURN(models.draft, LoadDraftModel(*draft_options, *models.model));
  const LocalStepModel& draft = *models.draft.model;
  PHYLLO_RETURN_IF_ERROR(WarmUp(*models.draft.model));
  logger.Info("draft model ready", {{"precision", draft.precision().ToString()},
                                    {"kv_bytes_per_token", draft.kv_bytes_per_token()}});
  return models;
}

MemoryNeeds NeedsOf(const ServedModels& models, const EngineOptions& options,
                    int64_t max_transport_bytes) {
  int64_t shared_bytes = 0;  // in the page cache, which computing needs all the same
  for (const LoadedWeights& weights : models.weights())
    if (weights.shared) shared_bytes += weights.arena->bytes();
  MemoryNeeds needs =
      NeedsOf(*models.model, options,
              {.loaded_bytes = ReadAnonymousBytes() + shared_bytes,
               .kv_bytes_per_token = models.model->kv_bytes_per_token(),
               .max_request_bytes = options.request_memory->limit_bytes(),
               .max_transport_bytes = max_transport_bytes,
               .reading_threads = ReadingThreads(std::thread::hardware_concurrency())});
  if (const LocalStepModel* const draft = models.draft.model.get(); draft != nullptr)
    needs.kv_cache += KvCacheBytes(*draft, draft->kv_bytes_per_token());
  return needs;
}

}  // namespace phyllo
