// Parameters of a generation by name, as flags and the chat's /set give them.
#ifndef PHYLLO_CLIENTS_CLI_REQUEST_REQUEST_SETTINGS_H_
#define PHYLLO_CLIENTS_CLI_REQUEST_REQUEST_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// One parameter that a person may set.
struct RequestSetting {
  absl::string_view name;  // its flag without the dashes, such as "top-k"
  absl::string_view path;  // its field in GenerateRequest, such as "sampling.top_k"
  absl::string_view value_name;
  absl::string_view help;
};

// All of them, in the order of --help.
absl::Span<const RequestSetting> RequestSettings();

// Sets the parameter `name`; '_' counts as '-'. A repeated field gets one more element, a duration
// takes "1.5s". Only the type is checked, the range is the server's affair. INVALID_ARGUMENT that
// names the parameter if it is unknown or `value` cannot be read.
absl::Status SetRequestField(absl::string_view name, absl::string_view value,
                             gateway::v1::GenerateRequest& request);

// Takes the parameter out of the request. INVALID_ARGUMENT if it is unknown.
absl::Status ClearRequestField(absl::string_view name, gateway::v1::GenerateRequest& request);

// "top-k = 20" for each parameter that is present.
std::vector<std::string> DescribeRequestSettings(const gateway::v1::GenerateRequest& request);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_REQUEST_REQUEST_SETTINGS_H_
