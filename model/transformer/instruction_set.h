// What this CPU offers to the matrix products of a Transformer.
#ifndef PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
#define PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_

#include <string>
#include <vector>

#include "model/transformer/precision/model_precision.h"

namespace phyllo {

// The instruction-set class of the kernels, such as "avx512_core_amx": tokens are reproducible
// within one class.
std::string InstructionSetName();

// Which kernels multiply the matrices of a module on this CPU. For logs and metrics.
struct ModuleImplementation {
  std::string module;          // "attention", "feed_forward" or "lm_head"
  std::string precision;       // "int8"
  std::string implementation;  // "phyllo avx512_core_bf16 bf16", see linear_kernels.h
};

// Of every module with matrices, in the order above.
std::vector<ModuleImplementation> ModuleImplementations(const ModelPrecision& precision);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_INSTRUCTION_SET_H_
