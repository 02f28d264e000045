// A model.safetensors.index.json. A shard that is accepted never leaves the folder.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/base/check.h"
#include "model/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view json(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<phyllo::ShardIndex> index = phyllo::ParseShardIndex(json, "fuzz");
  if (!index.ok()) return 0;
  PHYLLO_CHECK(!index->weight_map.empty());
  for (const auto& [tensor, shard] : index->weight_map) {
    PHYLLO_CHECK(!shard.empty() && shard != ".." && shard.find('/') == std::string::npos);
  }
  return 0;
}
