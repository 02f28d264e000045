// How far the start of a service has come, for its log and for whoever started it.
#ifndef PHYLLO_SERVICES_COMMON_LOADING_LOAD_PROGRESS_H_
#define PHYLLO_SERVICES_COMMON_LOADING_LOAD_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/common/logger.h"

namespace phyllo {

// One activity of a start.
struct LoadActivity {
  std::string name;  // a word: "packing"
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;
};

// Writes every tenth part of an activity to the log, and, several times a second, the activity to a
// file that ReadLoadActivity reads. Thread-compatible.
class LoadProgress {
 public:
  // `path`: the file, made anew; empty: the log only. A file that cannot be written is left alone:
  // a start does not fail for want of somebody who watches it.
  LoadProgress(Logger& logger, const std::string& path);
  ~LoadProgress();
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  // `activity` is a lower-case word.
  void Report(absl::string_view activity, int64_t done_bytes, int64_t total_bytes);

 private:
  void WriteFile(int64_t done_bytes, int64_t total_bytes);

  Logger& logger_;
  int descriptor_ = -1;
  std::string activity_;
  int64_t logged_percent_ = 0;
  std::chrono::steady_clock::time_point next_write_ = {};
};

// What a LoadProgress last wrote to the file. NOT_FOUND if there is none yet, DATA_LOSS if it reads
// as nothing sensible (in the middle of a write: try again).
absl::StatusOr<LoadActivity> ReadLoadActivity(const std::string& path);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_LOADING_LOAD_PROGRESS_H_
