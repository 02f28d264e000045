#include "model/config/rope_parameters.h"

#include "absl/strings/string_view.h"

namespace phyllo {

absl::string_view RopeTypeName(RopeType type) {
  switch (type) {
    case RopeType::kDefault:
      return "default";
    case RopeType::kLinear:
      return "linear";
    case RopeType::kDynamic:
      return "dynamic";
    case RopeType::kYarn:
      return "yarn";
    case RopeType::kLlama3:
      return "llama3";
    case RopeType::kLongrope:
      return "longrope";
    case RopeType::kMinimindYarn:
      return "minimind_yarn";
    case RopeType::kMinimindFirstYarn:
      return "minimind_first_yarn";
  }
  return "unknown";
}

}  // namespace phyllo
