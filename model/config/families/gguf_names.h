// The tensor names and layouts of GGUF files, which are llama.cpp's.
#ifndef PHYLLO_MODEL_CONFIG_FAMILIES_GGUF_NAMES_H_
#define PHYLLO_MODEL_CONFIG_FAMILIES_GGUF_NAMES_H_

#include "absl/strings/string_view.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {

// Changes a description of a family, made from the model_type's own config, to that of the same
// model in a GGUF file: other names, other orders of rows, norm weights with their offset (Gemma's
// 1) already added. UNIMPLEMENTED, in the reader's status, for a model_type that has no such files.
void UseGgufNames(ConfigReader& reader, absl::string_view model_type, DecoderDescription& decoder);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_FAMILIES_GGUF_NAMES_H_
