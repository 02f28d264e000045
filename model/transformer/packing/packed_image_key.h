#ifndef PHYLLO_MODEL_TRANSFORMER_PACKING_PACKED_IMAGE_KEY_H_
#define PHYLLO_MODEL_TRANSFORMER_PACKING_PACKED_IMAGE_KEY_H_

#include <cstdint>
#include <string>

namespace phyllo {

// Which bytes DecoderWeights::Load makes of which weights. Whoever changes the order in which it
// allocates, the layout of what it packs or how it rounds counts up; packed_weights_test knows the
// bytes of the version.
inline constexpr int kPackedLayoutVersion = 2;

// All that decides the packed weights of some layers of a model.
struct PackedImageParts {
  std::string weights_sha256;  // ComputeWeightsDigest's
  std::string config_json;     // the text of config.json
  std::string precision;       // of every matrix, as text
  int64_t first_layer = 0;
  int64_t last_layer = 0;  // [first_layer, last_layer); with the head if the model's last is in it
};

// The key of their image: a line for each part, the weights' digest first, and for this CPU's
// instruction set and kPackedLayoutVersion.
std::string PackedImageKey(const PackedImageParts& parts);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_PACKING_PACKED_IMAGE_KEY_H_
