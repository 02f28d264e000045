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
  cache.image = std::make_unique<PackedImage>(folder, PackedImageKey(parts), options.image_memory);
  return cache;
}

void LogWeights(absl::Span<const LoadedWeights> models, Logger& logger) {
  for (const LoadedWeights& weights : models) {
    const bool from_cache = weights.image_status.ok();
    const WeightsDigest& digest = weights.cache->weights_digest;
    if (!digest.file_status.ok() && !absl::IsNotFound(digest.file_status)) {
      logger.Warning("trouble with the digest file",
                     {{"of", weights.model}, {"reason", digest.file_status}});
    }
    if (weights.cache->image != nullptr && !from_cache && !absl::IsNotFound(weights.image_status)) {
      logger.Warning("the packed image is not used",
                     {{"of", weights.model}, {"reason", weights.image_status}});
    }
    logger.Info("weights loaded", {{"of", weights.model},
                                   {"from", from_cache ? "packed_cache" : "checkpoint"},
                                   {"shared", weights.shared},
                                   {"digest_from_file", digest.from_file},
                                   {"packed_bytes", weights.arena->bytes()}});
  }
}

std::vector<std::unique_ptr<PackedImageWriter>> KeepWeights(absl::Span<const LoadedWeights> models,
                                                            Logger& logger) {
  std::vector<std::unique_ptr<PackedImageWriter>> writers;
  for (const LoadedWeights& weights : models) {
    if (weights.cache->image == nullptr || weights.image_status.ok()) continue;
    const PackedImage& image = *weights.cache->image;
    const int64_t bytes = weights.arena->bytes();
    writers.push_back(std::make_unique<PackedImageWriter>(
        image, *weights.arena,
        [&image, &logger, bytes, model = weights.model](const absl::Status& status) {
          if (status.ok()) {
            logger.Info("packed weights kept for the next start",
                        {{"of", model}, {"file", image.path()}, {"bytes", bytes}});
          } else if (!absl::IsCancelled(status)) {
            logger.Warning("packed weights not kept", {{"of", model}, {"reason", status}});
          }
        }));
  }
  return writers;
}

}  // namespace phyllo
