#include "model/base/max_isa.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace phyllo {
namespace {

struct NamedIsa {
  const char* name;
  MaxIsa isa;
};
constexpr NamedIsa kNames[] = {
    {"AVX2", MaxIsa::kAvx2},
    {"AVX2_VNNI", MaxIsa::kAvx2Vnni},
    {"AVX512_CORE", MaxIsa::kAvx512Core},
    {"AVX512_CORE_VNNI", MaxIsa::kAvx512CoreVnni},
    {"AVX512_CORE_BF16", MaxIsa::kAvx512CoreBf16},
    {"AVX512_CORE_AMX", MaxIsa::kAvx512CoreAmx},
    {"DEFAULT", MaxIsa::kAll},
};

}  // namespace

absl::StatusOr<MaxIsa> ParseMaxIsa(absl::string_view name) {
  if (name.empty()) return MaxIsa::kAll;
  std::string names;
  for (const NamedIsa& named : kNames) {
    if (absl::EqualsIgnoreCase(name, named.name)) return named.isa;
    absl::StrAppend(&names, names.empty() ? "" : ", ", named.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("PHYLLO_MAX_ISA is \"", name, "\", must be one of ", names));
}

absl::StatusOr<MaxIsa> MaxIsaOfEnvironment() {
  const char* const name = std::getenv("PHYLLO_MAX_ISA");
  return ParseMaxIsa(name == nullptr ? "" : name);
}

}  // namespace phyllo
