#include "clients/cli/request/argument_values.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/request/request_settings.h"

namespace phyllo {

absl::Status ApplySettings(const RequestSettingTexts& settings,
                           gateway::v1::GenerateRequest& request) {
  for (const auto& [name, value] : settings) {
    const absl::Status set = SetRequestField(name, value, request);
    if (!set.ok()) return absl::InvalidArgumentError(absl::StrCat("--", set.message()));
  }
  return absl::OkStatus();
}

absl::Status ApplyServiceFlags(
    const ServiceFlagTexts& texts,
    std::array<std::vector<std::string>, kServiceKindCount>& service_flags) {
  auto& transformer = service_flags[static_cast<int>(ServiceKind::kTransformer)];
  if (!texts.threads.empty()) transformer.push_back(absl::StrCat("--threads=", texts.threads));
  if (!texts.precision.empty()) {
    transformer.push_back(absl::StrCat("--precision=", texts.precision));
  }
  if (!texts.packed_cache.empty()) {
    for (const ServiceKind kind : {ServiceKind::kEmbedding, ServiceKind::kTransformer}) {
      service_flags[static_cast<int>(kind)].push_back(
          absl::StrCat("--packed_cache=", texts.packed_cache));
    }
  }
  for (const std::string& flag : texts.flags) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(flag, absl::MaxSplits('.', 1));
    const auto kind = std::find_if(
        kAllServiceKinds.begin(), kAllServiceKinds.end(),
        [&parts](ServiceKind candidate) { return ServiceName(candidate) == parts.first; });
    if (kind == kAllServiceKinds.end() || parts.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--flag: \"", flag,
                       "\" is not SERVICE.NAME=VALUE with one of tokenizer, embedding, "
                       "transformer, gateway"));
    }
    service_flags[static_cast<int>(*kind)].push_back(absl::StrCat("--", parts.second));
  }
  return absl::OkStatus();
}

absl::Status ParseIds(absl::string_view text, std::vector<int32_t>& ids) {
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(", []"), absl::SkipEmpty())) {
    int32_t id;
    if (!absl::SimpleAtoi(word, &id)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is no token id"));
    }
    ids.push_back(id);
  }
  return absl::OkStatus();
}

absl::Status ParseTime(absl::string_view option, absl::string_view text, absl::Duration& time) {
  if (text.empty()) return absl::OkStatus();
  if (absl::ParseDuration(text, &time) && time > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": \"", text, "\" is no time such as 30s"));
}

}  // namespace phyllo
