#include "model/config/decoder_description.h"

#include "absl/strings/string_view.h"

namespace phyllo {

absl::string_view ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "silu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kRelu:
      return "relu";
  }
  return "unknown";
}

}  // namespace phyllo
