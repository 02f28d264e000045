#include "model/transformer/instruction_set.h"

#include "model/onednn/linear_kernels.h"
#include "model/tensor/linear_input.h"

namespace phyllo {

std::string InstructionSetName() { return IsaName(); }

std::vector<ModuleImplementation> ModuleImplementations(const ModelPrecision& precision) {
  const auto of = [](const char* module, Precision own) {
    return ModuleImplementation{module, PrecisionName(own), ImplementationName(own)};
  };
  return {of("attention", precision.attention), of("feed_forward", precision.feed_forward),
          of("lm_head", precision.lm_head)};
}

}  // namespace phyllo
