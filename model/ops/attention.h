#ifndef PHYLLO_MODEL_OPS_ATTENTION_H_
#define PHYLLO_MODEL_OPS_ATTENTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/ops/simd_kernels.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// How keys and values of one layer lie in one page of page_size tokens:
//   f32, int8   K [kv, hd, page_size], then V [kv, page_size, hd]
//   bf16        K [kv, hd / 2, page_size, 2], then V [kv, page_size / 2, hd, 2]
// K is transposed so that a score is one sequential sum over hd while the vector lanes are keys. In
// bf16 two elements of a key, and those of two tokens in a column of V, lie side by side, as dot
// products of pairs want them; there is an element of K beyond an odd hd, a zero, and unused space
// behind each head of V.
// kInt8: both are signed bytes, x as round(x * (1 / scale)), scale = (largest |x| of the token's
// key or value in the head) / 127, rows of zeros and of values that are not finite as in
// LinearInput; behind V lie the scales of K and then those of V, each f32 [kv, page_size].
struct KvLayout {
  int64_t num_key_value_heads = 0;
  int64_t head_dim = 0;                   // 1 to kMaxHeadDim
  int64_t page_size = 64;                 // tokens, a multiple of 16, at most kMaxPageSize
  Precision precision = Precision::kF32;  // or kBf16 or kInt8

  static constexpr int64_t kMaxHeadDim = 512;
  static constexpr int64_t kMaxPageSize = 128;

  // Bytes of K (as many of V), of the scales of K (as many of V) and of all in one page of one
  // layer.
  int64_t key_bytes() const {
    const int64_t columns = precision == Precision::kBf16 ? head_dim + head_dim % 2 : head_dim;
    return num_key_value_heads * columns * page_size * BytesPerElement(precision);
  }
  int64_t scale_bytes() const {
    return precision == Precision::kInt8 ? num_key_value_heads * page_size * 4 : 0;
  }
  int64_t page_bytes() const { return 2 * (key_bytes() + scale_bytes()); }

  // INVALID_ARGUMENT naming the field that is out of range.
  absl::Status Validate() const;
};

// The pages of one layer: page id p lies at base + p * page_stride. Borrowed; base and page_stride
// 64-byte aligned.
struct KvLayer {
  KvLayout layout;
  std::byte* base = nullptr;
  int64_t page_stride = 0;  // bytes, at least layout.page_bytes()

  std::byte* Page(int32_t page_id) const { return base + page_id * page_stride; }
};

// The rows of one sequence in a step: rows [row_begin, row_begin + row_count) of q, k, v and out
// are its tokens at positions first_position, first_position + 1, ... Position p lies in slot p %
// page_size of page page_table[p / page_size]. Slices of one step do not share rows, nor pages that
// are written.
struct SequenceSlice {
  int64_t row_begin = 0;
  int64_t row_count = 0;
  int64_t first_position = 0;
  // Page ids; at least ceil((first_position + row_count) / page_size) of them. Those of pages that
  // lie wholly before the window of row_begin are not looked at.
  absl::Span<const int32_t> page_table;
};

struct AttentionSpec {
  int64_t num_attention_heads = 0;  // a multiple of num_key_value_heads
  float scale = 1.0f;               // of the scores, usually 1 / sqrt(head_dim)
  // A query sees itself and the sliding_window - 1 keys before it; >= 1. Absent = all before it.
  std::optional<int64_t> sliding_window = std::nullopt;
  // Scores become soft_cap * tanh(score / soft_cap) (Gemma 2, arXiv 2408.00118, section 2); >= 0,
  // 0 = as they are.
  float soft_cap = 0.0f;
};

// Per-worker tiles of scores and outputs for Attend. Thread-compatible; one Attend at a time.
class AttentionScratch {
 public:
  // For pools of up to num_workers threads and steps of up to max_slices sequences; memory lies in
  // `arena`. INVALID_ARGUMENT for a count < 1 or a bad layout; RESOURCE_EXHAUSTED.
  static absl::StatusOr<AttentionScratch> Create(const KvLayout& layout, int num_workers,
                                                 int64_t max_slices, HugePageArena& arena);

  int num_workers() const { return num_workers_; }
  int64_t max_slices() const { return static_cast<int64_t>(task_begin_.size()) - 1; }
  // Worker's own floats.
  float* Worker(int worker) const { return memory_ + worker * floats_per_worker_; }
  // task_begin()[i]: the first task of slice i; [max_slices + 1].
  absl::Span<int64_t> task_begin() const { return task_begin_; }

 private:
  AttentionScratch() = default;

  int num_workers_ = 0;
  int64_t floats_per_worker_ = 0;
  float* memory_ = nullptr;
  absl::Span<int64_t> task_begin_;
};

// Writes the keys and values of a step's tokens into their pages, rounded to the layout's
// precision. k, v [m, kv * hd] f32 (RoPE already applied to k). Requires every slice's page table
// to hold its positions. Allocates nothing.
void WriteKv(const SimdKernels& kernels, MatrixView<const float> k, MatrixView<const float> v,
             absl::Span<const SequenceSlice> slices, const KvLayer& layer, ThreadPool& pool);

// Causal attention of a step's tokens over the earlier positions of their sequences and themselves
// (Vaswani et al. 2017, eq. 1, with the online softmax of Milakov and Gimelshein 2018): for the
// query at position p of head a, kv head a / (h / kv), with a sliding window w (else w = p + 1)
//   out = sum_{p - w < t <= p} softmax_t(cap(scale * q . k_t)) v_t.
// q [m, h * hd] f32, out [m, h * hd] in its precision with its padding. If that is kInt8, q becomes
// the results in f32: a row's heads are the work of several tasks, and its scale that of all. The
// keys and values of all these positions must have been written (WriteKv of this step included);
// other slots are never read into a result, whatever they hold.
//
// Determinism: an output row depends on its query and on the keys and values it sees only. Pages
// are cut from position 0 on and visited in order, with one running maximum and sum; rows of a tile
// only share loads. So chunks, batches, threads and page ids do not change a bit. Allocates
// nothing.
void Attend(const SimdKernels& kernels, const AttentionSpec& spec, MatrixView<float> q,
            absl::Span<const SequenceSlice> slices, const KvLayer& layer, const LinearInput& out,
            ThreadPool& pool, AttentionScratch& scratch);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_ATTENTION_H_
