// What a service says of itself in GetInfo, and the digests by which the gateway recognises
// services that belong together.
#ifndef PHYLLO_SERVICES_COMMON_SERVER_IDENTITY_H_
#define PHYLLO_SERVICES_COMMON_SERVER_IDENTITY_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "phyllo/common/v1/model.pb.h"

namespace phyllo {

inline constexpr char kSoftwareVersion[] = "0.1.0";
// Versions of the protos; see ServerInfo.
inline constexpr int kProtoVersionMajor = 1;
inline constexpr int kProtoVersionMinor = 0;

// The 32 bytes of a SHA-256 digest of 64 hexadecimal digits; empty if `hex` is not that.
std::string DigestBytes(absl::string_view hex);

// Digests of the small files of a model: config.json, and tokenizer.json if it is there; of a GGUF
// file of what its metadata are as such files (ReadModelFile). What takes longer or is not a file
// (weights, chat template) is added by the services that hold it. NOT_FOUND without a config.json,
// and the errors of ReadModelFile; messages do not name the folder's path.
absl::StatusOr<common::v1::ModelFingerprint> FingerprintFolder(const std::string& model_folder);

// The name that clients use: `model_name` if it is not empty, else the last part of the model's
// path, without ".gguf".
std::string ModelName(absl::string_view model_name, absl::string_view model_folder);

// OK if the fields that both fingerprints have are equal, else FAILED_PRECONDITION naming both
// sides and the field, with reason FINGERPRINT_MISMATCH. `a_name` and `b_name` are for the message:
// "tokenizer at 10.0.0.1:50051".
absl::Status CheckSameModel(absl::string_view a_name, const common::v1::ServerInfo& a,
                            absl::string_view b_name, const common::v1::ServerInfo& b);

// The answer to GetInfo that does not change but for its uptime. Immutable, thread-safe.
class ServerIdentity {
 public:
  // Versions and uptime are filled in here. `instruction_set` and `precision` are set by services
  // that compute.
  explicit ServerIdentity(common::v1::ServerInfo info);

  common::v1::ServerInfo Describe() const;

 private:
  common::v1::ServerInfo info_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_SERVER_IDENTITY_H_
