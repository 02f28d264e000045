// The file is one line of kLineBytes, rewritten in place: "ACTIVITY DONE TOTAL", spaces, a newline.
#include "services/common/loading/load_progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace phyllo {
namespace {

constexpr size_t kLineBytes = 96;
constexpr size_t kMaxActivity = 32;
constexpr auto kWriteInterval = std::chrono::milliseconds(50);
constexpr int64_t kLoggedPercents = 10;

int64_t Percent(int64_t done_bytes, int64_t total_bytes) {
  return total_bytes > 0 ? done_bytes * 100 / total_bytes : 100;
}

}  // namespace

LoadProgress::LoadProgress(Logger& logger, const std::string& path) : logger_(logger) {
  if (path.empty()) return;
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) logger_.Warning("cannot write the progress file", {{"path", path}});
}

LoadProgress::~LoadProgress() {
  if (descriptor_ >= 0) close(descriptor_);
}

void LoadProgress::Report(absl::string_view activity, int64_t done_bytes, int64_t total_bytes) {
  activity = activity.substr(0, kMaxActivity);
  const bool is_new = activity != activity_;
  if (is_new) {
    activity_ = std::string(activity);
    logged_percent_ = 0;
  }
  const int64_t percent = Percent(done_bytes, total_bytes);
  if (percent >= logged_percent_ + kLoggedPercents || (percent >= 100 && logged_percent_ < 100)) {
    logged_percent_ = percent;
    logger_.Info("loading",
                 {{"activity", activity_}, {"percent", percent}, {"total_bytes", total_bytes}});
  }
  const auto now = std::chrono::steady_clock::now();
  if (descriptor_ < 0 || (!is_new && percent < 100 && now < next_write_)) return;
  next_write_ = now + kWriteInterval;
  WriteFile(done_bytes, total_bytes);
}

void LoadProgress::WriteFile(int64_t done_bytes, int64_t total_bytes) {
  std::string line = absl::StrCat(activity_, " ", done_bytes, " ", total_bytes);
  line.resize(kLineBytes - 1, ' ');
  line += '\n';
  // Whoever reads half a line reads again.
  if (pwrite(descriptor_, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size())) return;
  close(descriptor_);
  descriptor_ = -1;
}

absl::StatusOr<LoadActivity> ReadLoadActivity(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError("no progress yet");
  std::string line(kLineBytes, '\0');
  file.read(line.data(), kLineBytes);
  if (file.gcount() == 0) return absl::NotFoundError("no progress yet");
  std::istringstream words(line);
  LoadActivity activity;
  words >> activity.name >> activity.done_bytes >> activity.total_bytes;
  if (!words || static_cast<size_t>(file.gcount()) != kLineBytes || line.back() != '\n' ||
      activity.done_bytes < 0 || activity.total_bytes < activity.done_bytes) {
    return absl::DataLossError("the progress file is being written");
  }
  return activity;
}

}  // namespace phyllo
