#include "clients/launcher/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

// A socket's path is at most 107 bytes long; this leaves room for
// "/phyllo-XXXXXX/transformer.sock".
constexpr size_t kMaxParentLength = 70;

}  // namespace

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Create() {
  std::string error;
  const char* const preferred = getenv("TMPDIR");
  for (const std::string& parent :
       {std::string(preferred == nullptr ? "" : preferred), std::string("/tmp")}) {
    if (parent.empty() || parent.size() > kMaxParentLength) continue;
    std::string path = parent + "/phyllo-XXXXXX";
    if (mkdtemp(path.data()) != nullptr)
      return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
    absl::StrAppend(&error, error.empty() ? "" : "; ", parent, ": ", std::strerror(errno));
  }
  return absl::InternalError(absl::StrCat("cannot make a temporary folder: ", error));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace phyllo
