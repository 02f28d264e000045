#include "model/checkpoint/gguf_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/gguf.h"
#include "model/checkpoint/memory_mapped_file.h"

namespace phyllo {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSuffix = ".gguf";

// NAME-00002-of-00003.gguf.
struct SplitName {
  std::string stem;  // NAME
  int64_t count = 0;

  std::string Part(int64_t index) const {
    return absl::StrFormat("%s-%05d-of-%05d.gguf", stem, index, count);
  }
};

std::optional<SplitName> ParseSplitName(absl::string_view name) {
  constexpr size_t kTail = 20;  // -00002-of-00003.gguf
  if (name.size() <= kTail || !absl::EndsWith(name, kSuffix)) return std::nullopt;
  const absl::string_view tail = name.substr(name.size() - kTail);
  int64_t index = 0;
  int64_t count = 0;
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" ||
      !absl::SimpleAtoi(tail.substr(1, 5), &index) ||
      !absl::SimpleAtoi(tail.substr(10, 5), &count) || index < 1 || index > count)
    return std::nullopt;
  SplitName split = {std::string(name.substr(0, name.size() - kTail)), count};
  return split.Part(index) == name ? std::optional<SplitName>(split) : std::nullopt;
}

absl::StatusOr<std::vector<std::string>> AllParts(const fs::path& file) {
  const std::optional<SplitName> split = ParseSplitName(file.filename().string());
  if (!split.has_value()) return std::vector<std::string>{file.string()};
  std::vector<std::string> parts;
  for (int64_t i = 1; i <= split->count; ++i) {
    const fs::path part = file.parent_path() / split->Part(i);
    std::error_code error;
    if (!fs::exists(part, error))
      return absl::NotFoundError(absl::StrCat(split->Part(i), " is missing"));
    parts.push_back(part.string());
  }
  return parts;
}

// The names that a user would give for the GGUF models in a folder: of a split one its first part.
std::set<std::string> ModelsIn(const fs::path& folder) {
  std::set<std::string> models;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!absl::EndsWith(name, kSuffix)) continue;
    const std::optional<SplitName> split = ParseSplitName(name);
    models.insert(split.has_value() ? split->Part(1) : name);
  }
  return models;
}

bool HoldsFolderModel(const fs::path& folder) {
  std::error_code error;
  for (const char* name : {"config.json", "model.safetensors", "model.safetensors.index.json"}) {
    if (fs::exists(folder / name, error)) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindGgufFiles(absl::string_view path) {
  const fs::path given{std::string(path)};
  std::error_code error;
  if (fs::is_regular_file(given, error)) {
    PHYLLO_ASSIGN_OR_RETURN(const MemoryMappedFile file, MemoryMappedFile::Open(given.string()));
    if (!IsGguf(file.data())) {
      return absl::InvalidArgumentError(
          absl::StrCat(given.filename().string(), " is neither a model folder nor a GGUF file"));
    }
    return AllParts(given);
  }
  if (!fs::is_directory(given, error) || HoldsFolderModel(given)) return std::vector<std::string>();
  const std::set<std::string> models = ModelsIn(given);
  if (models.empty()) return std::vector<std::string>();
  if (models.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the folder holds ", models.size(), " GGUF models, name one of them: ", *models.begin(),
        ", ", *models.rbegin(), " ..."));
  }
  return AllParts(given / *models.begin());
}

}  // namespace phyllo
