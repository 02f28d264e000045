// A private folder that goes with its owner.
#ifndef PHYLLO_CLIENTS_LAUNCHER_TEMPORARY_FOLDER_H_
#define PHYLLO_CLIENTS_LAUNCHER_TEMPORARY_FOLDER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace phyllo {

// Owns a folder that only this user may enter (mode 0700) and removes it with all it holds.
// Immutable.
class TemporaryFolder {
 public:
  // Makes "/tmp/phyllo-XXXXXX", or under $TMPDIR if a socket's path fits there (108 bytes).
  // INTERNAL if neither can be written.
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_LAUNCHER_TEMPORARY_FOLDER_H_
