// From the texts of options to what they mean.
#ifndef PHYLLO_CLIENTS_CLI_REQUEST_ARGUMENT_VALUES_H_
#define PHYLLO_CLIENTS_CLI_REQUEST_ARGUMENT_VALUES_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "clients/launcher/service_binaries.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Names of parameters (request_settings.h) with their values, in the order given.
using RequestSettingTexts = std::vector<std::pair<std::string, std::string>>;

// Options for services that are started here; empty: not given.
struct ServiceFlagTexts {
  std::string threads;
  std::string precision;
  std::string packed_cache;        // auto, off or a folder
  std::vector<std::string> flags;  // each SERVICE.NAME=VALUE
};

// Each returns INVALID_ARGUMENT that names the option if a text cannot be read.

// Sets the parameters in `request`.
absl::Status ApplySettings(const RequestSettingTexts& settings,
                           gateway::v1::GenerateRequest& request);

// Adds "--NAME=VALUE" to the flags of the service, by ServiceKind.
absl::Status ApplyServiceFlags(
    const ServiceFlagTexts& texts,
    std::array<std::vector<std::string>, kServiceKindCount>& service_flags);

// Adds the token ids of "1,2,3", "1 2 3" or "[1, 2, 3]".
absl::Status ParseIds(absl::string_view text, std::vector<int32_t>& ids);

// Reads a time greater than 0, such as "1.5s", of `option`; leaves `time` if `text` is empty.
absl::Status ParseTime(absl::string_view option, absl::string_view text, absl::Duration& time);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_REQUEST_ARGUMENT_VALUES_H_
