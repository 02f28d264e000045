// The command line that all service binaries have in common. Linked by main files only; nothing
// else reads flags.
#ifndef PHYLLO_SERVICES_COMMON_SERVICE_FLAGS_H_
#define PHYLLO_SERVICES_COMMON_SERVICE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/common/service_process.h"

namespace phyllo {

// Parses argv (--listen, --metrics_address, --port_file, --progress_file, --log_level,
// --log_format, --drain_grace, --drain_timeout, --max_handler_threads, --max_transport_bytes, and
// what main itself defines), prints help and exits on --help, and exits with 2 and a sentence on
// standard error if a value cannot be read or a positional argument is left over. `usage` is the
// text that --help begins with.
ServiceProcessOptions ParseServiceFlags(absl::string_view service,
                                        absl::string_view default_address, absl::string_view usage,
                                        int argc, char** argv);

// INVALID_ARGUMENT that names the flag, its value and its range, unless low <= value <= high.
absl::Status CheckFlagRange(absl::string_view flag, int64_t value, int64_t low, int64_t high);

// What --max_transport_bytes, given as `max_transport_bytes`, comes to in a process that may use
// `memory_bytes`: at most an eighth of it, or 16 MiB if that is more. 0 = not known, as it is.
int64_t TransportBytesFor(int64_t memory_bytes, int64_t max_transport_bytes);

// A comma separated list without empty elements.
std::vector<std::string> SplitAddresses(absl::string_view text);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_SERVICE_FLAGS_H_
