// What this CPU offers to the matrix products of a Transformer.
#ifndef PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
#define PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_

#include <string>

namespace phyllo {

// The instruction-set class of the kernels, such as "avx512_core_amx": tokens are reproducible
// within one class.
std::string InstructionSetName();

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
