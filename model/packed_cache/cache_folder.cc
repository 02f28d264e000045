#include "model/packed_cache/cache_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/digest.h"

namespace phyllo {
namespace {

namespace fs = std::filesystem;

constexpr char kFolderName[] = ".phyllo";

// The folder that holds the weights, with symbolic links resolved.
fs::path WeightsFolder(const std::string& model_path) {
  std::error_code error;
  fs::path path = fs::canonical(model_path, error);
  if (error) path = model_path;
  return fs::is_directory(path, error) ? path : path.parent_path();
}

// Two models in one folder of caches must not meet, whatever they are called.
std::string NameFor(const fs::path& weights_folder) {
  return Sha256Hex(weights_folder.string()).substr(0, 16);
}

bool IsWritableFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
}

// The user's folder for caches, or empty.
fs::path UserCache() {
  const char* const configured = std::getenv("XDG_CACHE_HOME");
  // The specification wants relative paths ignored.
  if (configured != nullptr && configured[0] == '/') return configured;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') return {};
  return fs::path(home) / ".cache";
}

fs::path AutomaticFolder(const fs::path& weights_folder) {
  const fs::path beside = weights_folder / kFolderName;
  std::error_code error;
  if (IsWritableFolder(fs::exists(beside, error) ? beside : weights_folder)) return beside;
  const fs::path user_cache = UserCache();
  if (user_cache.empty()) return {};
  return user_cache / "phyllo" / "models" / NameFor(weights_folder);
}

}  // namespace

absl::StatusOr<CacheFolder> FindCacheFolder(absl::string_view choice, const std::string& model_path,
                                            const Checkpoint& checkpoint) {
  if (choice.empty()) {
    return absl::InvalidArgumentError(
        "the folder of the packed cache is empty, must be auto, off or a path");
  }
  CacheFolder folder;
  if (choice == "off" || checkpoint.shards().empty()) return folder;
  folder.stem = checkpoint.shards().front().name;
  if (choice == "auto") {
    if (checkpoint.total_bytes() >= kMinCachedModelBytes)
      folder.path = AutomaticFolder(WeightsFolder(model_path)).string();
    return folder;
  }
  const fs::path chosen = std::string(choice);
  std::error_code error;
  if (fs::exists(chosen, error) && !fs::is_directory(chosen, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the packed cache's \"", choice, "\" is not a folder"));
  }
  folder.path = (chosen / NameFor(WeightsFolder(model_path))).string();
  return folder;
}

}  // namespace phyllo
