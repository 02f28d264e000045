#include "model/transformer/instruction_set.h"

#include "model/onednn/linear_kernels.h"

namespace phyllo {

std::string InstructionSetName() { return IsaName(); }

}  // namespace phyllo
