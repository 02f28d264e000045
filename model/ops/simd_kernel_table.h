#ifndef PHYLLO_MODEL_OPS_SIMD_KERNEL_TABLE_H_
#define PHYLLO_MODEL_OPS_SIMD_KERNEL_TABLE_H_

// The entry points of the kernels of one instruction set. Private to model/ops; raw pointers only,
// because this header is compiled with several instruction sets and must bring no inline code that
// the linker could merge. See norm.h, rope.h, activation.h, softmax.h and attention.h for the
// formulas. Arrays over types are indexed by Precision: that of the output (of K and V in
// attend_tile, there signed bytes). Kernels that write a row of some type return its scale, which
// is 1 but for bytes.

#include <cstddef>
#include <cstdint>

namespace phyllo {

// A tile of attention: `rows` query rows of one kv head, over all pages of which a row sees a key.
// Row r sees the keys at positions begin[r] .. end[r] - 1, of which there is at least one; both
// ascend with r.
struct AttentionTile {
  static constexpr int64_t kMaxRows = 32;

  int64_t rows = 0;  // 1 to kMaxRows
  int64_t head_dim = 0;
  int64_t page_size = 0;
  int64_t begin[kMaxRows] = {};
  int64_t end[kMaxRows] = {};
  float soft_cap = 0.0f;  // scores become soft_cap * tanh(score / soft_cap); 0 = as they are
  const int32_t* page_table = nullptr;
  const std::byte* keys = nullptr;    // of this head in page 0, as KvLayout says
  const std::byte* values = nullptr;  // likewise
  // Of keys and values in bytes: of this head in page 0, f32 [page_size].
  const std::byte* key_scales = nullptr;
  const std::byte* value_scales = nullptr;
  int64_t page_stride = 0;  // bytes
  float* q = nullptr;       // [rows, hd rounded up to 16], times the scale, then 0; overwritten
  float* scores = nullptr;  // [rows, page_size], scratch
  float* out = nullptr;     // [rows, hd rounded up to 16]: the result
};

struct SimdKernelTable {
  // x, weight [d]; out [d].
  float (*rms_norm[3])(const float* x, const float* weight, float eps, int64_t d, void* out);
  // bias may be null.
  float (*layer_norm[3])(const float* x, const float* weight, const float* bias, float eps,
                         int64_t d, void* out);
  // By RopePairs. x [heads, head_dim]; cos, sin [half].
  void (*rope[2])(float* x, int64_t heads, int64_t head_dim, int64_t half, const float* cos,
                  const float* sin);
  // By ActivationKind; up may be null (then 1). x, up, out [n]. Into bytes, x becomes the result
  // in f32.
  float (*activate[4][3])(float* x, const float* up, int64_t n, void* out);
  // y [n] += factor * x [n].
  void (*add_scaled)(const float* x, float factor, int64_t n, float* y);
  // out [n] = cap * tanh(x [n] / divisor / cap), without the tanh if cap is 0.
  void (*soft_cap)(const float* x, float divisor, float cap, int64_t n, float* out);
  // out [n] = x [n] rounded.
  float (*round[3])(const float* x, int64_t n, void* out);
  void (*softmax)(const float* x, int64_t n, float* out);
  float (*log_sum_exp)(const float* x, int64_t n);
  // out [n] = x [n] - y.
  void (*subtract)(const float* x, float y, int64_t n, float* out);
  int64_t (*argmax)(const float* x, int64_t n);
  // out [n] = x [n] * y.
  void (*scale)(const float* x, float y, int64_t n, float* out);
  // y [n] = sum over j < count of weights[j] * row rows[j] of x, in the order of j; with `add` y
  // += that sum.
  void (*weighted_sum)(const float* x, int64_t stride, const int32_t* rows, const float* weights,
                       int64_t count, int64_t n, bool add, float* y);
  // out [n] = exp(x [n]).
  void (*exp)(const float* x, int64_t n, float* out);
  void (*attend_tile[3])(const AttentionTile& tile);
};

namespace simd_v3 {
void AttendTileF32(const AttentionTile& tile);
void AttendTileBf16(const AttentionTile& tile);
void AttendTileInt8(const AttentionTile& tile);
extern const SimdKernelTable kTable;
}  // namespace simd_v3
namespace simd_v4 {
void AttendTileF32(const AttentionTile& tile);
void AttendTileBf16(const AttentionTile& tile);
void AttendTileInt8(const AttentionTile& tile);
extern const SimdKernelTable kTable;
}  // namespace simd_v4
// As simd_v4, where nothing else stands here.
namespace simd_v4_bf16 {
void AttendTileBf16(const AttentionTile& tile);
}  // namespace simd_v4_bf16

}  // namespace phyllo

#endif  // PHYLLO_MODEL_OPS_SIMD_KERNEL_TABLE_H_
