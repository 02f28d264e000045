// Invariant: a service is dialled only after its port file is there, so that no connection attempt
// fails and backs off.
#include "clients/launcher/local_services.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr int kGateway = static_cast<int>(ServiceKind::kGateway);
constexpr absl::Duration kTick = absl::Milliseconds(10);
constexpr absl::Duration kObserverInterval = absl::Milliseconds(100);
constexpr absl::Duration kRestartInterval = absl::Seconds(1);
constexpr int kShownLogLines = 10;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// The second number of /proc/PID/statm, in bytes; 0 when the process is gone.
int64_t ResidentBytes(pid_t pid) {
  std::istringstream statm(ReadFile(absl::StrCat("/proc/", pid, "/statm")));
  int64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

std::string LastLines(const std::string& text, int line_count) {
  std::vector<std::string> lines = absl::StrSplit(absl::StripSuffix(text, "\n"), '\n');
  if (lines.size() > line_count) lines.erase(lines.begin(), lines.end() - line_count);
  return absl::StrJoin(lines, "\n");
}

absl::Status CheckOptions(const LocalServicesOptions& options) {
  std::error_code error;
  if (!std::filesystem::exists(options.model_folder, error)) {
    return absl::NotFoundError(
        absl::StrCat("there is no model folder \"", options.model_folder, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

LocalServices::LocalServices(const LocalServicesOptions& options) : options_(options) {}

LocalServices::~LocalServices() { Stop(); }

absl::StatusOr<std::unique_ptr<LocalServices>> LocalServices::Start(
    const LocalServicesOptions& options, LaunchObserver observer) {
  const absl::Time start_time = absl::Now();
  PHYLLO_RETURN_IF_ERROR(CheckOptions(options));
  std::unique_ptr<LocalServices> services(new LocalServices(options));
  PHYLLO_ASSIGN_OR_RETURN(services->folder_, TemporaryFolder::Create());
  for (const ServiceKind kind : kAllServiceKinds) {
    services->addresses_[static_cast<int>(kind)] =
        absl::StrCat("unix:", services->PathOf(kind, ".sock"));
  }
  if (!options.gateway_address.empty()) services->addresses_[kGateway] = options.gateway_address;

  ServingWatches watches;
  // The gateway comes last: it finds everything it asks about in place.
  for (const ServiceKind kind :
       {ServiceKind::kTokenizer, ServiceKind::kEmbedding, ServiceKind::kTransformer}) {
    PHYLLO_RETURN_IF_ERROR(services->Spawn(kind));
  }
  PHYLLO_RETURN_IF_ERROR(services->WaitUntilServing(observer, start_time, watches));
  PHYLLO_RETURN_IF_ERROR(services->Spawn(ServiceKind::kGateway));
  PHYLLO_RETURN_IF_ERROR(services->WaitUntilServing(observer, start_time, watches));
  return services;
}

absl::Status LocalServices::Spawn(ServiceKind kind) {
  const int index = static_cast<int>(kind);
  std::vector<std::string> arguments = {
      options_.binaries[index],
      absl::StrCat("--listen=", addresses_[index]),
      absl::StrCat("--port_file=", PathOf(kind, ".port")),
      absl::StrCat("--progress_file=", PathOf(kind, ".progress")),
      "--drain_grace=0s",
      absl::StrCat("--drain_timeout=", absl::FormatDuration(options_.stop_timeout))};
  if (kind == ServiceKind::kGateway) {
    for (const ServiceKind backend :
         {ServiceKind::kTokenizer, ServiceKind::kEmbedding, ServiceKind::kTransformer}) {
      arguments.push_back(absl::StrCat("--", ServiceName(backend),
                                       "_addresses=", addresses_[static_cast<int>(backend)]));
    }
  } else {
    arguments.push_back(absl::StrCat("--model=", options_.model_folder));
  }
  arguments.insert(arguments.end(), options_.flags[index].begin(), options_.flags[index].end());
  PHYLLO_ASSIGN_OR_RETURN(children_[index], ChildProcess::Spawn(arguments, PathOf(kind, ".log")));
  spawn_times_[index] = absl::Now();
  return absl::OkStatus();
}

absl::Status LocalServices::WaitUntilServing(LaunchObserver observer, absl::Time start_time,
                                             ServingWatches& watches) {
  absl::Time next_news = absl::InfinitePast();
  std::optional<int> serving_before;
  while (true) {
    PHYLLO_RETURN_IF_ERROR(CheckStart(start_time));
    LaunchProgress progress = {};
    progress.elapsed = absl::Now() - start_time;
    const bool is_news_time = absl::Now() >= next_news;
    int serving_count = 0;
    ChildProcess* waits_for = nullptr;
    for (int i = 0; i < kServiceKindCount; ++i) {
      if (children_[i] == nullptr) continue;
      if (watches[i] == nullptr && Exists(PathOf(kAllServiceKinds[i], ".port"))) {
        PHYLLO_RETURN_IF_ERROR(ReadAddress(kAllServiceKinds[i]));
        watches[i] = std::make_unique<ServingWatch>(addresses_[i]);
      }
      const bool serving = watches[i] != nullptr && watches[i]->IsServing();
      progress.states[i] = serving ? LaunchState::kServing : LaunchState::kLoading;
      progress.resident_bytes[i] = ResidentBytes(children_[i]->pid());
      if (is_news_time && !serving) ReadActivity(kAllServiceKinds[i]);
      if (!serving) progress.activities[i] = activities_[i];
      serving_count += serving ? 1 : 0;
      if (!serving) waits_for = children_[i].get();
    }
    if (serving_count != serving_before || is_news_time) {
      observer(progress);
      serving_before = serving_count;
      next_news = absl::Now() + kObserverInterval;
    }
    if (waits_for == nullptr) return absl::OkStatus();
    waits_for->WaitForEnd(kTick);
  }
}

absl::Status LocalServices::CheckStart(absl::Time start_time) {
  if (options_.cancelled != nullptr && *options_.cancelled)
    return absl::CancelledError("the start was interrupted");
  if (absl::Now() - start_time > options_.start_timeout) {
    return absl::DeadlineExceededError(absl::StrCat("the services were not ready after ",
                                                    absl::FormatDuration(options_.start_timeout)));
  }
  const absl::Status running = CheckRunning();
  if (running.ok()) return running;
  return absl::FailedPreconditionError(running.message());
}

absl::Status LocalServices::ReadAddress(ServiceKind kind) {
  const std::string text = ReadFile(PathOf(kind, ".port"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view address = line;
    if (!absl::ConsumePrefix(&address, "listen ")) continue;
    addresses_[static_cast<int>(kind)] = std::string(address);
    return absl::OkStatus();
  }
  return absl::InternalError(
      absl::StrCat("the ", ServiceName(kind), " service wrote no address to its port file"));
}

void LocalServices::ReadActivity(ServiceKind kind) {
  absl::StatusOr<LoadActivity> activity = ReadLoadActivity(PathOf(kind, ".progress"));
  if (activity.ok()) activities_[static_cast<int>(kind)] = *std::move(activity);
}

const std::string& LocalServices::address(ServiceKind kind) const {
  return addresses_[static_cast<int>(kind)];
}

pid_t LocalServices::pid(ServiceKind kind) const {
  return children_[static_cast<int>(kind)]->pid();
}

std::string LocalServices::LastLogLines(ServiceKind kind, int line_count) const {
  return LastLines(ReadFile(PathOf(kind, ".log")), line_count);
}

absl::Status LocalServices::CheckRunning() {
  for (const ServiceKind kind : kAllServiceKinds) {
    ChildProcess* const child = children_[static_cast<int>(kind)].get();
    const std::optional<std::string> end = child == nullptr ? std::nullopt : child->HowItEnded();
    if (!end.has_value()) continue;
    return absl::UnavailableError(absl::StrCat("the ", ServiceName(kind), " service ended with ",
                                               *end, "; the end of its log:\n",
                                               LastLogLines(kind, kShownLogLines)));
  }
  return absl::OkStatus();
}

absl::Status LocalServices::RestartEnded(EndObserver observer) {
  for (const ServiceKind kind : kAllServiceKinds) {
    const int index = static_cast<int>(kind);
    const std::optional<std::string> end = children_[index]->HowItEnded();
    if (!end.has_value() || absl::Now() < spawn_times_[index] + kRestartInterval) continue;
    observer(kind, *end);
    PHYLLO_RETURN_IF_ERROR(Spawn(kind));
  }
  return absl::OkStatus();
}

void LocalServices::Stop() {
  if (children_[kGateway] != nullptr) StopChildren(kGateway, kGateway);
  StopChildren(0, kGateway - 1);
}

void LocalServices::StopChildren(int first, int last) {
  for (int i = first; i <= last; ++i) {
    if (children_[i] != nullptr) children_[i]->Terminate();
  }
  const absl::Time deadline = absl::Now() + options_.stop_timeout;
  for (int i = first; i <= last; ++i) {
    if (children_[i] == nullptr || children_[i]->WaitForEnd(deadline - absl::Now())) continue;
    children_[i]->Kill();
    children_[i]->WaitForEnd(absl::InfiniteDuration());
  }
}

std::string LocalServices::PathOf(ServiceKind kind, absl::string_view suffix) const {
  return absl::StrCat(folder_->path(), "/", ServiceName(kind), suffix);
}

}  // namespace phyllo
