#include "services/transformer/weights/model_cache.h"

#include <utility>

#include "model/base/status_macros.h"
#include "model/packed_cache/cache_folder.h"

namespace phyllo {

absl::StatusOr<ModelCache> OpenModelCache(
    const ModelCacheOptions& options, const std::string& model_path, const Checkpoint& checkpoint,
    PackedImageParts parts,
    const std::function<void(int64_t done_bytes, int64_t total_bytes)>& progress) {
  PHYLLO_ASSIGN_OR_RETURN(const CacheFolder folder,
                          FindCacheFolder(options.packed_cache, model_path, checkpoint));
  ModelCache cache;
  PHYLLO_ASSIGN_OR_RETURN(
      cache.weights_digest,
      FindWeightsDigest(
          checkpoint, {.folder = folder, .verify = options.verify_weights, .progress = progress}));
  if (!folder.enabled()) return cache;
  parts.weights_sha256 = cache.weights_digest.sha256;
  cache.image = std::make_unique<PackedImage>(
      folder, PackedImageKey(parts),
      options.share_weights ? ImageMemory::kShared : ImageMemory::kPrivate);
  return cache;
}

void ReportWeights(const ModelCache& cache, const LoadedWeights& weights, MetricRegistry& metrics,
                   Logger& logger) {
  const bool from_cache = weights.image_status.ok();
  metrics
      .AddGauge("phyllo_weights_from_packed_cache",
                "1 if the packed weights were read from the packed cache, 0 if they were packed "
                "from the checkpoint.")
      .Set(from_cache ? 1 : 0);
  metrics.AddGauge("phyllo_load_seconds", "Time that loading took, warm-up included.")
      .Set(absl::ToDoubleSeconds(weights.load_time));
  const absl::Status& file_status = cache.weights_digest.file_status;
  if (!file_status.ok() && !absl::IsNotFound(file_status))
    logger.Warning("trouble with the digest file", {{"reason", file_status}});
  if (cache.image != nullptr && !from_cache && !absl::IsNotFound(weights.image_status))
    logger.Warning("the packed image is not used", {{"reason", weights.image_status}});
  logger.Info("weights loaded", {{"from", from_cache ? "packed_cache" : "checkpoint"},
                                 {"digest_from_file", cache.weights_digest.from_file},
                                 {"packed_bytes", weights.arena->bytes()},
                                 {"load_seconds", weights.load_time}});
}

std::unique_ptr<PackedImageWriter> KeepWeights(const ModelCache& cache,
                                               const LoadedWeights& weights, Logger& logger) {
  if (cache.image == nullptr || weights.image_status.ok()) return nullptr;
  const PackedImage& image = *cache.image;
  const int64_t bytes = weights.arena->bytes();
  return std::make_unique<PackedImageWriter>(
      image, *weights.arena, [&image, &logger, bytes](const absl::Status& status) {
        if (status.ok()) {
          logger.Info("packed weights kept for the next start",
                      {{"file", image.path()}, {"bytes", bytes}});
        } else if (!absl::IsCancelled(status)) {
          logger.Warning("packed weights not kept", {{"reason", status}});
        }
      });
}

}  // namespace phyllo
