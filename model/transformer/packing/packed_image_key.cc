#include "model/transformer/packing/packed_image_key.h"

#include "absl/strings/str_cat.h"
#include "model/base/digest.h"
#include "model/transformer/instruction_set.h"

namespace phyllo {

std::string PackedImageKey(const PackedImageParts& parts) {
  return absl::StrCat(
      "weights_sha256=", parts.weights_sha256, "\nconfig_sha256=", Sha256Hex(parts.config_json),
      "\nprecision=", parts.precision, "\nlayers=[", parts.first_layer, ", ", parts.last_layer,
      ")\ninstruction_set=", InstructionSetName(), "\nlayout_version=", kPackedLayoutVersion, "\n");
}

}  // namespace phyllo
