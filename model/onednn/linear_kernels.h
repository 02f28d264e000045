#ifndef PHYLLO_MODEL_ONEDNN_LINEAR_KERNELS_H_
#define PHYLLO_MODEL_ONEDNN_LINEAR_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"

namespace phyllo {

// The instruction set that kernels use on this CPU, as oneDNN names it, e.g. "avx512_core_bf16" or
// "avx512_core_amx"; PHYLLO_MAX_ISA (model/base/max_isa.h) bounds it, as it was when a process
// first asked. Results of equal models may differ in their last bits between instruction sets.
std::string IsaName();

// Whose kernels multiply weights of this precision on this CPU, for people and metrics: e.g.
// "onednn avx512_core_amx bf16", "phyllo avx512_core_vnni u8s8".
std::string ImplementationName(Precision precision);

class LinearKernelSet;  // linear_kernel_set.h

// Rows and columns of y that one kernel call computes at most, and rows that one task does (a
// multiple of the former).
inline constexpr int64_t kLinearRowBlock = 32;
inline constexpr int64_t kLinearPanel = 64;
inline constexpr int64_t kLinearTaskRows = 256;

// Makes and holds kernels at load, so that a step never does. Layers with equal in_features and
// precision share one set. Thread-compatible; the sets outlive it as long as a PackedLinear uses
// them.
class LinearKernels {
 public:
  LinearKernels();
  ~LinearKernels();
  LinearKernels(const LinearKernels&) = delete;
  LinearKernels& operator=(const LinearKernels&) = delete;

  // The longest sums of int8 and int4: 255 * 127 * in_features fits into int32.
  static constexpr int64_t kMaxInt8InFeatures = 0x7fffffff / (255 * 127);

  // The set for weights of in_features in `precision`, made at the first call (milliseconds).
  // INVALID_ARGUMENT when in_features < 1 or too large or PHYLLO_MAX_ISA is no instruction set;
  // FAILED_PRECONDITION naming the instruction set when this CPU has no such kernel; INTERNAL when
  // oneDNN fails.
  absl::StatusOr<std::shared_ptr<const LinearKernelSet>> Get(int64_t in_features,
                                                             Precision precision);

 private:
  std::map<std::pair<int64_t, Precision>, std::shared_ptr<const LinearKernelSet>> sets_;
};

// What Forward needs beside its operands: for each worker two tiles of y, the scratchpad of a
// kernel and room for unpacked weights.
// Thread-compatible; one Forward at a time.
class LinearScratch {
 public:
  // For pools of up to num_workers threads; the memory lies in `arena`. INVALID_ARGUMENT when
  // num_workers < 1; RESOURCE_EXHAUSTED.
  static absl::StatusOr<LinearScratch> Create(int num_workers, HugePageArena& arena);

  int num_workers() const { return num_workers_; }

  // Worker's own tiles, [kLinearTaskRows, kLinearPanel] f32 or int32 each.
  std::byte* Tile(int worker) const;
  std::byte* SecondTile(int worker) const { return Tile(worker) + kTileBytes; }
  static constexpr int64_t kTileRowBytes = kLinearPanel * 4;
  static constexpr int64_t kTileBytes = kLinearTaskRows * kTileRowBytes;
  // Worker's own kScratchpadBytes.
  void* Scratchpad(int worker) const;
  static constexpr int64_t kScratchpadBytes = 256 << 10;

  // Worker's own kUnpackedBytes, for int4 weights as bytes; half of a small second-level cache.
  std::byte* Unpacked(int worker) const;
  static constexpr int64_t kUnpackedBytes = 128 << 10;

 private:
  LinearScratch(int num_workers, std::byte* memory) : num_workers_(num_workers), memory_(memory) {}

  int num_workers_;
  std::byte* memory_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_ONEDNN_LINEAR_KERNELS_H_
