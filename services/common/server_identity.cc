#include "services/common/server_identity.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/gguf/model_files.h"
#include "services/common/durations.h"
#include "services/common/status_bridge.h"

namespace phyllo {
namespace {

using common::v1::ModelFingerprint;
using common::v1::ServerInfo;

// A digest's first digits: enough to tell two apart in a message.
std::string Short(const std::string& digest) { return absl::BytesToHexString(digest.substr(0, 6)); }

absl::Status Mismatch(absl::string_view a_name, absl::string_view b_name, absl::string_view field,
                      const std::string& a, const std::string& b) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          a_name, " and ", b_name, " do not belong to one model: ", field, " is ", a, " and ", b)),
      {"FINGERPRINT_MISMATCH", {{"field", std::string(field)}}});
}

}  // namespace

std::string DigestBytes(absl::string_view hex) {
  if (hex.size() != 64 ||
      hex.find_first_not_of("0123456789abcdefABCDEF") != absl::string_view::npos)
    return "";
  return absl::HexStringToBytes(hex);
}

absl::StatusOr<ModelFingerprint> FingerprintFolder(const std::string& model_folder) {
  ModelFingerprint fingerprint;
  PHYLLO_ASSIGN_OR_RETURN(const std::string config, ReadModelFile(model_folder, "config.json"));
  fingerprint.set_config_sha256(DigestBytes(Sha256Hex(config)));
  const absl::StatusOr<std::string> tokenizer = ReadModelFile(model_folder, "tokenizer.json");
  if (tokenizer.ok()) {
    fingerprint.set_tokenizer_sha256(DigestBytes(Sha256Hex(*tokenizer)));
  } else if (!absl::IsNotFound(tokenizer.status())) {
    return tokenizer.status();
  }
  return fingerprint;
}

std::string ModelName(absl::string_view model_name, absl::string_view model_folder) {
  if (!model_name.empty()) return std::string(model_name);
  std::string last;
  for (const absl::string_view part : absl::StrSplit(model_folder, '/', absl::SkipEmpty()))
    last = std::string(absl::StripSuffix(part, ".gguf"));
  return last.empty() ? "model" : last;
}

absl::Status CheckSameModel(absl::string_view a_name, const ServerInfo& a, absl::string_view b_name,
                            const ServerInfo& b) {
  if (a.proto_version_major() != b.proto_version_major()) {
    return Mismatch(a_name, b_name, "proto_version_major", absl::StrCat(a.proto_version_major()),
                    absl::StrCat(b.proto_version_major()));
  }
  const ModelFingerprint& x = a.fingerprint();
  const ModelFingerprint& y = b.fingerprint();
  struct Field {
    absl::string_view name;
    bool in_both;
    const std::string& x;
    const std::string& y;
  };
  const Field fields[] = {
      {"config_sha256", x.has_config_sha256() && y.has_config_sha256(), x.config_sha256(),
       y.config_sha256()},
      {"weights_sha256", x.has_weights_sha256() && y.has_weights_sha256(), x.weights_sha256(),
       y.weights_sha256()},
      {"tokenizer_sha256", x.has_tokenizer_sha256() && y.has_tokenizer_sha256(),
       x.tokenizer_sha256(), y.tokenizer_sha256()},
      {"chat_template_sha256", x.has_chat_template_sha256() && y.has_chat_template_sha256(),
       x.chat_template_sha256(), y.chat_template_sha256()},
  };
  for (const Field& field : fields) {
    if (field.in_both && field.x != field.y)
      return Mismatch(a_name, b_name, field.name, Short(field.x), Short(field.y));
  }
  return absl::OkStatus();
}

ServerIdentity::ServerIdentity(ServerInfo info) : info_(std::move(info)) {
  info_.set_software_version(kSoftwareVersion);
  info_.set_proto_version_major(kProtoVersionMajor);
  info_.set_proto_version_minor(kProtoVersionMinor);
}

ServerInfo ServerIdentity::Describe() const {
  ServerInfo info = info_;
  *info.mutable_uptime() =
      ToProtoDuration(absl::FromChrono(std::chrono::steady_clock::now() - start_));
  return info;
}

}  // namespace phyllo
