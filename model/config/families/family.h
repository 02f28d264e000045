// A model family: what is particular to it, in one value.
#ifndef PHYLLO_MODEL_CONFIG_FAMILIES_FAMILY_H_
#define PHYLLO_MODEL_CONFIG_FAMILIES_FAMILY_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/config/decoder_description.h"
#include "model/config/reader/config_reader.h"

namespace phyllo {

// A class of the reference, and what it puts behind the decoder layers.
struct Architecture {
  absl::string_view name;
  HeadKind head;
};

// A constant of static lifetime.
struct Family {
  absl::string_view model_type;
  // Its classes are <class_prefix>ForCausalLM, <class_prefix>ForSequenceClassification and
  // <class_prefix>Model ...
  absl::string_view class_prefix = "";
  // ... and these.
  absl::Span<const Architecture> other_architectures = {};
  bool
      tie_word_embeddings;  // if the file does not say: the default of the reference's config class
  // Reads the family's keys into all of `decoder` but head, num_labels and tie_word_embeddings.
  // Errors go to the reader's status.
  void (*describe)(ConfigReader& reader, DecoderDescription& decoder);
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_FAMILIES_FAMILY_H_
