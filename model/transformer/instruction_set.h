// What this CPU offers to the matrix products of a Transformer.
#ifndef PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
#define PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_

#include <string>

#include "model/tensor/linear_input.h"

namespace phyllo {

// Whether a Transformer of this precision can be loaded here (bf16 needs AVX512_BF16 or AMX).
bool SupportsPrecision(Precision precision);

// The instruction-set class of the kernels, such as "avx512_core_amx": tokens are reproducible
// within one class.
std::string InstructionSetName();

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
