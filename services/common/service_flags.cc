#include "services/common/service_flags.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

ABSL_FLAG(std::string, listen, "",
          "Addresses to serve on, separated by commas: host:port (port 0 takes a free one) or "
          "unix:PATH. Empty: the service's usual port on "
          "127.0.0.1");
ABSL_FLAG(std::string, metrics_address, "",
          "host:port for Prometheus' GET /metrics; port 0 takes a free one. Empty: no metrics");
ABSL_FLAG(
    std::string, port_file, "",
    "File to write the bound addresses to, one \"listen ADDRESS\" a line, once calls are accepted");
ABSL_FLAG(std::string, progress_file, "",
          "File to write to how far loading has come: \"ACTIVITY DONE_BYTES TOTAL_BYTES\", "
          "rewritten in place");
ABSL_FLAG(std::string, log_level, "info", "Least level to log: debug, info, warning or error");
ABSL_FLAG(std::string, log_format, "logfmt",
          "Format of log lines on standard error: logfmt or json");
ABSL_FLAG(absl::Duration, drain_grace, absl::Seconds(1),
          "After SIGTERM or SIGINT: time to say NOT_SERVING before new calls are refused. A second "
          "signal stops at once");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30),
          "After that: time for running calls to finish before they are cancelled");
ABSL_FLAG(
    int, max_handler_threads, 512,
    "Most calls handled at once; a streaming call counts for as long as it lasts. Those of the "
    "gateway and the transformer are bounded by --max_request_bytes instead, the gateway's by "
    "--max_requests, too. Range [4, 65536]");
ABSL_FLAG(int64_t, max_transport_bytes, int64_t{512} << 20,
          "Bytes that gRPC may hold for messages in flight. The gateway and the transformer take "
          "no more than an eighth of their memory, or 16 MiB if that is more. Range [2^20, 2^40]");

namespace phyllo {
namespace {

[[noreturn]] void ExitWithUsageError(absl::string_view message) {
  std::cerr << message << "\nTry --help.\n";
  std::exit(2);
}

void ExitUnlessInRange(absl::string_view flag, int64_t value, int64_t low, int64_t high) {
  const absl::Status status = CheckFlagRange(flag, value, low, high);
  if (!status.ok()) ExitWithUsageError(status.message());
}

}  // namespace

ServiceProcessOptions ParseServiceFlags(absl::string_view service,
                                        absl::string_view default_address, absl::string_view usage,
                                        int argc, char** argv) {
  absl::SetProgramUsageMessage(usage);
  absl::FlagsUsageConfig config;
  config.contains_help_flags = [](absl::string_view file) {
    return absl::StrContains(file, "services/");
  };
  absl::SetFlagsUsageConfig(config);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1)
    ExitWithUsageError(
        absl::StrCat("\"", rest[1], "\" is not a flag; this program takes flags only."));

  const absl::StatusOr<LogLevel> level = ParseLogLevel(absl::GetFlag(FLAGS_log_level));
  if (!level.ok()) ExitWithUsageError(absl::StrCat("--log_level: ", level.status().message()));
  const absl::StatusOr<LogFormat> format = ParseLogFormat(absl::GetFlag(FLAGS_log_format));
  if (!format.ok()) ExitWithUsageError(absl::StrCat("--log_format: ", format.status().message()));
  const int max_handler_threads = absl::GetFlag(FLAGS_max_handler_threads);
  ExitUnlessInRange("max_handler_threads", max_handler_threads, 4, 65536);
  const int64_t max_transport_bytes = absl::GetFlag(FLAGS_max_transport_bytes);
  ExitUnlessInRange("max_transport_bytes", max_transport_bytes, int64_t{1} << 20, int64_t{1} << 40);

  ServiceProcessOptions options;
  options.logger = {std::string(service), *level, *format};
  options.server.listen_addresses = SplitAddresses(absl::GetFlag(FLAGS_listen));
  if (options.server.listen_addresses.empty())
    options.server.listen_addresses = {std::string(default_address)};
  options.server.max_handler_threads = max_handler_threads;
  options.server.max_transport_bytes = max_transport_bytes;
  options.metrics_address = absl::GetFlag(FLAGS_metrics_address);
  options.port_file = absl::GetFlag(FLAGS_port_file);
  options.progress_file = absl::GetFlag(FLAGS_progress_file);
  options.drain_grace = absl::GetFlag(FLAGS_drain_grace);
  options.drain_timeout = absl::GetFlag(FLAGS_drain_timeout);
  return options;
}

absl::Status CheckFlagRange(absl::string_view flag, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is ", value, ", must be in [", low, ", ", high, "]"));
}

int64_t TransportBytesFor(int64_t memory_bytes, int64_t max_transport_bytes) {
  if (memory_bytes <= 0) return max_transport_bytes;
  return std::min(max_transport_bytes, std::max(memory_bytes / 8, int64_t{16} << 20));
}

std::vector<std::string> SplitAddresses(absl::string_view text) {
  return absl::StrSplit(text, ',', absl::SkipWhitespace());
}

}  // namespace phyllo
