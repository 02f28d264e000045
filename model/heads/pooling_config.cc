#include "model/heads/pooling_config.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/base/strict_json.h"
#include "model/gguf/model_files.h"

namespace phyllo {
namespace {

constexpr char kFileName[] = "1_Pooling/config.json";

std::optional<Pooling> PoolingOf(absl::string_view key) {
  if (key == "pooling_mode_lasttoken") return Pooling::kLast;
  if (key == "pooling_mode_mean_tokens") return Pooling::kMean;
  if (key == "pooling_mode_cls_token") return Pooling::kCls;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Pooling> ParsePoolingConfig(absl::string_view json) {
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json object, ParseJsonObject(json, kFileName));
  std::optional<Pooling> pooling;
  for (const auto& [key, value] : object.items()) {
    if (!absl::StartsWith(key, "pooling_mode_") || value != true) continue;
    const std::optional<Pooling> known = PoolingOf(key);
    if (!known || pooling) {
      return absl::UnimplementedError(
          absl::StrCat(kFileName, ": ", key, known ? " beside another pooling" : "",
                       " is not supported; one of pooling_mode_lasttoken, "
                       "pooling_mode_mean_tokens, pooling_mode_cls_token is"));
    }
    pooling = known;
  }
  if (!pooling)
    return absl::InvalidArgumentError(absl::StrCat(kFileName, ": no pooling_mode_* is true"));
  return *pooling;
}

absl::StatusOr<Pooling> ReadFolderPooling(const std::string& model_folder) {
  const absl::StatusOr<std::string> file = ReadModelFile(model_folder, kFileName);
  if (absl::IsNotFound(file.status())) return Pooling::kLast;
  if (!file.ok()) return file.status();
  return ParsePoolingConfig(*file);
}

}  // namespace phyllo
