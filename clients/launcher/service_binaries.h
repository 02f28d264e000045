// The four services, and where their programs are on this machine.
#ifndef PHYLLO_CLIENTS_LAUNCHER_SERVICE_BINARIES_H_
#define PHYLLO_CLIENTS_LAUNCHER_SERVICE_BINARIES_H_

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// In the order in which they are started.
enum class ServiceKind { kTokenizer = 0, kEmbedding = 1, kTransformer = 2, kGateway = 3 };
inline constexpr int kServiceKindCount = 4;
inline constexpr std::array<ServiceKind, kServiceKindCount> kAllServiceKinds = {
    ServiceKind::kTokenizer, ServiceKind::kEmbedding, ServiceKind::kTransformer,
    ServiceKind::kGateway};

// "tokenizer", "embedding", "transformer" or "gateway": the name of folder and program.
absl::string_view ServiceName(ServiceKind kind);

// Paths of the programs by ServiceKind.
using ServiceBinaries = std::array<std::string, kServiceKindCount>;

// Finds the programs, in this order: in $PHYLLO_SERVICES_DIR if it is set; among Bazel's runfiles
// (of `bazel run`, of a test, or beside the program in bazel-bin); in ../libexec/phyllo from this
// program's folder. NOT_FOUND lists what was tried.
absl::StatusOr<ServiceBinaries> FindServiceBinaries();

// Finds the folder of the demo model: among Bazel's runfiles, else in ../share/phyllo/demo from
// this program's folder. NOT_FOUND lists what was tried.
absl::StatusOr<std::string> FindDemoModel();

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_LAUNCHER_SERVICE_BINARIES_H_
