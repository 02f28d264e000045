#include "model/transformer/instruction_set.h"

#include "model/onednn/linear_kernels.h"

namespace phyllo {

bool SupportsPrecision(Precision precision) { return IsSupported(precision); }

std::string InstructionSetName() { return IsaName(); }

}  // namespace phyllo
