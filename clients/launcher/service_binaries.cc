#include "clients/launcher/service_binaries.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace phyllo {
namespace {

namespace fs = std::filesystem;

constexpr char kWorkspace[] = "phyllo";

std::string Environment(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

fs::path ThisProgram() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

// Folders that may hold runfiles of this repository, best first: those of a test or of a program
// that started us, then our own.
std::vector<fs::path> RunfilesFolders() {
  std::vector<fs::path> folders;
  for (const char* const name : {"RUNFILES_DIR", "TEST_SRCDIR"}) {
    const std::string value = Environment(name);
    if (!value.empty()) folders.push_back(fs::path(value) / kWorkspace);
  }
  folders.push_back(fs::path(ThisProgram().string() + ".runfiles") / kWorkspace);
  return folders;
}

std::string InstalledFolder(absl::string_view relative) {
  return (ThisProgram().parent_path().parent_path() / std::string(relative)).string();
}

// The first of `candidates` whose four programs can all be executed.
absl::StatusOr<ServiceBinaries> FirstComplete(const std::vector<ServiceBinaries>& candidates) {
  std::vector<std::string> missing;
  for (const ServiceBinaries& candidate : candidates) {
    bool complete = true;
    for (const std::string& path : candidate) {
      if (access(path.c_str(), X_OK) == 0) continue;
      complete = false;
      missing.push_back(path);
      break;
    }
    if (complete) return candidate;
  }
  return absl::NotFoundError(absl::StrCat(
      "the service programs were not found; missing are ", absl::StrJoin(missing, ", "),
      ". Set PHYLLO_SERVICES_DIR to the folder that holds them."));
}

}  // namespace

absl::string_view ServiceName(ServiceKind kind) {
  switch (kind) {
    case ServiceKind::kTokenizer:
      return "tokenizer";
    case ServiceKind::kEmbedding:
      return "embedding";
    case ServiceKind::kTransformer:
      return "transformer";
    case ServiceKind::kGateway:
      return "gateway";
  }
  return "";
}

absl::StatusOr<ServiceBinaries> FindServiceBinaries() {
  const auto in_one_folder = [](const fs::path& folder) {
    ServiceBinaries binaries;
    for (const ServiceKind kind : kAllServiceKinds) {
      binaries[static_cast<int>(kind)] = (folder / std::string(ServiceName(kind))).string();
    }
    return binaries;
  };
  const std::string configured = Environment("PHYLLO_SERVICES_DIR");
  if (!configured.empty()) return FirstComplete({in_one_folder(configured)});

  std::vector<ServiceBinaries> candidates;
  for (const fs::path& runfiles : RunfilesFolders()) {
    ServiceBinaries binaries;
    for (const ServiceKind kind : kAllServiceKinds) {
      const std::string name(ServiceName(kind));
      binaries[static_cast<int>(kind)] = (runfiles / "services" / name / name).string();
    }
    candidates.push_back(std::move(binaries));
  }
  candidates.push_back(in_one_folder(InstalledFolder("libexec/phyllo")));
  return FirstComplete(candidates);
}

absl::StatusOr<std::string> FindDemoModel() {
  std::vector<std::string> candidates;
  for (const fs::path& runfiles : RunfilesFolders())
    candidates.push_back((runfiles / "model/demo").string());
  candidates.push_back(InstalledFolder("share/phyllo/demo"));
  for (const std::string& candidate : candidates) {
    if (access((candidate + "/config.json").c_str(), R_OK) == 0) return candidate;
  }
  return absl::NotFoundError(
      absl::StrCat("the demo model was not found; tried ", absl::StrJoin(candidates, ", ")));
}

}  // namespace phyllo
