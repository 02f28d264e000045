// What is kept between the starts of a model: the digest of its weights and their packed image.
#ifndef PHYLLO_SERVICES_TRANSFORMER_WEIGHTS_MODEL_CACHE_H_
#define PHYLLO_SERVICES_TRANSFORMER_WEIGHTS_MODEL_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/checkpoint/checkpoint.h"
#include "model/packed_cache/packed_image.h"
#include "model/packed_cache/packed_image_writer.h"
#include "model/packed_cache/weights_digest.h"
#include "model/tensor/huge_page_arena.h"
#include "model/transformer/packing/packed_image_key.h"
#include "services/common/logger.h"

namespace phyllo {

struct ModelCacheOptions {
  // What FindCacheFolder (model/packed_cache/cache_folder.h) takes. "off" reads and writes nothing.
  std::string packed_cache = "off";
  bool verify_weights = false;  // reads every byte of the checkpoint for its digest
  ImageMemory image_memory = ImageMemory::kPrivate;  // where the packed image is read to
};

struct ModelCache {
  WeightsDigest weights_digest;
  // The file of the packed weights, which may be there or not; null if nothing is kept.
  std::unique_ptr<PackedImage> image = nullptr;
};

// Finds the digest of the checkpoint at `model_path`, and the image that belongs to it and to
// `parts`, whose weights_sha256 is set here. `progress`, if not null, hears how much of the
// checkpoint is digested. Errors of FindCacheFolder.
absl::StatusOr<ModelCache> OpenModelCache(
    const ModelCacheOptions& options, const std::string& model_path, const Checkpoint& checkpoint,
    PackedImageParts parts,
    const std::function<void(int64_t done_bytes, int64_t total_bytes)>& progress);

// A model's packed weights and where they came from. Borrowed.
struct LoadedWeights {
  std::string model;  // which one it is, for the log: "model", "draft_model"
  const ModelCache* cache = nullptr;
  absl::Status image_status;  // DecoderWeights::image_status
  bool shared = false;        // DecoderWeights::shared
  const HugePageArena* arena = nullptr;
};

// Says where the weights came from, and why not from the cache if something was wrong with it.
void LogWeights(absl::Span<const LoadedWeights> models, Logger& logger);

// Begins to keep the packed weights for the next start where they are not kept yet: writers that
// must end before the arenas, the caches and the logger do.
std::vector<std::unique_ptr<PackedImageWriter>> KeepWeights(absl::Span<const LoadedWeights> models,
                                                            Logger& logger);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_WEIGHTS_MODEL_CACHE_H_
