// Invariants: the query rows of a (slice, kv head) are numbered r = token * group + head in group,
// in one list; a task is up to kMaxRows of them. Tasks are numbered slice by slice
// (scratch.task_begin()), and within a slice from the last rows, which see most keys, to the first,
// so that the long tasks start early. What a task computes does not depend on its number. A task
// reads q and writes q or out at its own rows and heads only.
#include "model/ops/attention.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "model/base/check.h"
#include "model/base/rounding.h"
#include "model/base/status_macros.h"
#include "model/ops/linear_input_rows.h"
#include "model/ops/simd_kernel_table.h"

namespace phyllo {
namespace {

constexpr int64_t kMaxRows = AttentionTile::kMaxRows;

// One slot of one kv head in a page of T. Element e of its key lies at key[e * page_size], of its
// value at value[e]; in bf16 elements 2 i and 2 i + 1 of its key lie at key[2 i * page_size] and
// behind it, element e of its value at value[2 e].
template <typename T>
struct Slot {
  T* key;
  T* value;
  float* key_scale;  // of bytes only
  float* value_scale;
};

template <typename T>
Slot<T> SlotAt(const KvLayer& layer, const SequenceSlice& slice, int64_t position,
               int64_t kv_head) {
  constexpr int64_t kPair = sizeof(T) == 2 ? 2 : 1;
  const KvLayout& layout = layer.layout;
  std::byte* const page =
      layer.Page(slice.page_table[static_cast<size_t>(position / layout.page_size)]);
  std::byte* const head = page + kv_head * (layout.key_bytes() / layout.num_key_value_heads);
  const int64_t slot = position % layout.page_size;
  float* const scales =
      reinterpret_cast<float*>(page + 2 * layout.key_bytes()) + kv_head * layout.page_size + slot;
  return {reinterpret_cast<T*>(head) + kPair * slot,
          reinterpret_cast<T*>(head + layout.key_bytes()) + slot / kPair * kPair * layout.head_dim +
              slot % kPair,
          scales, scales + layout.num_key_value_heads * layout.page_size};
}

// Writes one key and value [hd].
void WriteSlot(const SimdKernelTable& /*table*/, const KvLayout& layout, const float* key,
               const float* value, Slot<float> slot) {
  for (int64_t e = 0; e < layout.head_dim; ++e) slot.key[e * layout.page_size] = key[e];
  std::copy_n(value, layout.head_dim, slot.value);
}

void WriteSlot(const SimdKernelTable& table, const KvLayout& layout, const float* key,
               const float* value, Slot<uint16_t> slot) {
  const auto round = table.round[PrecisionIndex(Precision::kBf16)];
  uint16_t elements[KvLayout::kMaxHeadDim + 1];
  round(key, layout.head_dim, elements);
  elements[layout.head_dim] = 0;  // the other half of an odd last element's pair
  for (int64_t e = 0; e < layout.head_dim; e += 2)
    std::memcpy(slot.key + e * layout.page_size, elements + e, 2 * sizeof(uint16_t));
  round(value, layout.head_dim, elements);
  for (int64_t e = 0; e < layout.head_dim; ++e) slot.value[2 * e] = elements[e];
}

void WriteSlot(const SimdKernelTable& table, const KvLayout& layout, const float* key,
               const float* value, Slot<int8_t> slot) {
  const auto round = table.round[PrecisionIndex(Precision::kInt8)];
  uint8_t bytes[KvLayout::kMaxHeadDim];  // with the offset of LinearInput
  const auto element = [&](int64_t e) {
    return static_cast<int8_t>(bytes[e] - LinearInput::kInt8Zero);
  };
  *slot.key_scale = round(key, layout.head_dim, bytes);
  for (int64_t e = 0; e < layout.head_dim; ++e) slot.key[e * layout.page_size] = element(e);
  *slot.value_scale = round(value, layout.head_dim, bytes);
  for (int64_t e = 0; e < layout.head_dim; ++e) slot.value[e] = element(e);
}

// Writes one kv head's keys and values of a slice. T is float, uint16_t (bf16) or int8_t.
template <typename T>
void WriteHead(const SimdKernelTable& table, MatrixView<const float> k, MatrixView<const float> v,
               const SequenceSlice& slice, const KvLayer& layer, int64_t kv_head) {
  const int64_t column = kv_head * layer.layout.head_dim;
  for (int64_t i = 0; i < slice.row_count; ++i) {
    const int64_t row = slice.row_begin + i;
    WriteSlot(table, layer.layout, k.Row(row) + column, v.Row(row) + column,
              SlotAt<T>(layer, slice, slice.first_position + i, kv_head));
  }
}

bool PagesSuffice(absl::Span<const SequenceSlice> slices, int64_t page_size) {
  return std::all_of(slices.begin(), slices.end(), [&](const SequenceSlice& slice) {
    return slice.first_position >= 0 &&
           slice.first_position + slice.row_count <=
               static_cast<int64_t>(slice.page_table.size()) * page_size;
  });
}

// What all tasks of one Attend share.
struct Job {
  const SimdKernelTable& table;
  const AttentionSpec& spec;
  MatrixView<float> q;
  const KvLayer& layer;
  const LinearInput& out;

  int64_t group() const { return spec.num_attention_heads / layer.layout.num_key_value_heads; }
};

// Query rows [first, first + count) of one slice and kv head.
struct Task {
  const SequenceSlice& slice;
  int64_t kv_head;
  int64_t first;
  int64_t count;
};

// As many as share the reading of a page well, fewer where some threads would have no task: then
// several read the same pages, about at the same time.
int64_t RowsPerTask(const Job& job, absl::Span<const SequenceSlice> slices, int threads) {
  int64_t rows = 0;
  for (const SequenceSlice& slice : slices) rows += slice.row_count;
  rows *= job.spec.num_attention_heads;
  return std::clamp<int64_t>(rows / threads, 1, kMaxRows);
}

// Puts the result x [hd] of a query row and head into its place: in out, or in q if out is of
// bytes.
void WriteOut(const Job& job, int64_t row, int64_t head, const float* x) {
  const int64_t hd = job.layer.layout.head_dim;
  if (job.out.precision == Precision::kInt8) {
    std::memcpy(job.q.Row(row) + head * hd, x, static_cast<size_t>(hd) * sizeof(float));
    return;
  }
  std::byte* const target = RowOf(job.out, row) + head * hd * BytesPerElement(job.out.precision);
  job.table.round[PrecisionIndex(job.out.precision)](x, hd, target);
  if (head == 0) FinishRow(job.out, row, 1.0f);
}

void RunTask(const Job& job, const Task& task, float* scratch) {
  const KvLayout& layout = job.layer.layout;
  const int64_t hd = layout.head_dim;
  const int64_t stride = RoundUp(hd, 16);
  const int64_t group = job.group();
  float* const q = scratch;
  float* const out = q + kMaxRows * stride;
  AttentionTile tile;
  tile.rows = task.count;
  tile.head_dim = hd;
  tile.page_size = layout.page_size;
  tile.page_table = task.slice.page_table.data();
  tile.keys = job.layer.base + task.kv_head * (layout.key_bytes() / layout.num_key_value_heads);
  tile.values = tile.keys + layout.key_bytes();
  tile.key_scales = job.layer.base + 2 * layout.key_bytes() +
                    task.kv_head * (layout.scale_bytes() / layout.num_key_value_heads);
  tile.value_scales = tile.key_scales + layout.scale_bytes();
  tile.page_stride = job.layer.page_stride;
  tile.q = q;
  tile.out = out;
  tile.scores = out + kMaxRows * stride;
  tile.soft_cap = job.spec.soft_cap;
  for (int64_t r = 0; r < task.count; ++r) {
    const int64_t token = (task.first + r) / group;
    const int64_t head = task.kv_head * group + (task.first + r) % group;
    tile.end[r] = task.slice.first_position + token + 1;
    tile.begin[r] =
        std::max<int64_t>(0, tile.end[r] - job.spec.sliding_window.value_or(tile.end[r]));
    float* const row = q + r * stride;
    job.table.scale(job.q.Row(task.slice.row_begin + token) + head * hd, job.spec.scale, hd, row);
    std::fill(row + hd, row + stride, 0.0f);
  }
  job.table.attend_tile[PrecisionIndex(layout.precision)](tile);
  for (int64_t r = 0; r < task.count; ++r) {
    const int64_t row = task.slice.row_begin + (task.first + r) / group;
    const int64_t head = task.kv_head * group + (task.first + r) % group;
    WriteOut(job, row, head, out + r * stride);
  }
}

// The results of all rows, left in q, as the bytes of out.
void QuantiseRows(const Job& job, ThreadPool& pool) {
  constexpr int64_t kRowsPerTask = 8;
  const int64_t rows = job.q.rows;
  const auto write = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float scale = job.table.round[PrecisionIndex(Precision::kInt8)](
          job.q.Row(i), job.q.cols, RowOf(job.out, i));
      FinishRow(job.out, i, scale);
    }
  };
  if (rows <= kRowsPerTask) return write(0, rows);
  pool.ParallelFor(CeilDiv(rows, kRowsPerTask), [&](int64_t task, int) {
    write(task * kRowsPerTask, std::min(rows, (task + 1) * kRowsPerTask));
  });
}

}  // namespace

absl::Status KvLayout::Validate() const {
  if (num_key_value_heads < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_key_value_heads is ", num_key_value_heads, ", must be at least 1"));
  }
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    return absl::InvalidArgumentError(
        absl::StrCat("head_dim is ", head_dim, ", must be 1 to ", kMaxHeadDim));
  }
  if (page_size < 16 || page_size > kMaxPageSize || page_size % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "page_size is ", page_size, ", must be a multiple of 16 and at most ", kMaxPageSize));
  }
  if (InputPrecision(precision) != precision)
    return absl::InvalidArgumentError("keys and values are stored in f32, bf16 or int8, not int4");
  return absl::OkStatus();
}

absl::StatusOr<AttentionScratch> AttentionScratch::Create(const KvLayout& layout, int num_workers,
                                                          int64_t max_slices,
                                                          HugePageArena& arena) {
  PHYLLO_RETURN_IF_ERROR(layout.Validate());
  if (num_workers < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("num_workers is ", num_workers, ", must be at least 1"));
  if (max_slices < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("max_slices is ", max_slices, ", must be at least 1"));
  AttentionScratch scratch;
  scratch.num_workers_ = num_workers;
  scratch.floats_per_worker_ = kMaxRows * (2 * RoundUp(layout.head_dim, 16) + layout.page_size);
  PHYLLO_ASSIGN_OR_RETURN(const absl::Span<float> memory,
                          arena.AllocateSpan<float>(num_workers * scratch.floats_per_worker_));
  scratch.memory_ = memory.data();
  PHYLLO_ASSIGN_OR_RETURN(scratch.task_begin_, arena.AllocateSpan<int64_t>(max_slices + 1));
  return scratch;
}

void WriteKv(const SimdKernels& kernels, MatrixView<const float> k, MatrixView<const float> v,
             absl::Span<const SequenceSlice> slices, const KvLayer& layer, ThreadPool& pool) {
  const KvLayout& layout = layer.layout;
  PHYLLO_CHECK(k.cols == layout.num_key_value_heads * layout.head_dim && v.cols == k.cols);
  PHYLLO_CHECK(PagesSuffice(slices, layout.page_size));
  pool.ParallelFor(layout.num_key_value_heads, [&](int64_t kv_head, int) {
    for (const SequenceSlice& slice : slices) {
      switch (layout.precision) {
        case Precision::kF32:
          WriteHead<float>(kernels.table(), k, v, slice, layer, kv_head);
          break;
        case Precision::kBf16:
          WriteHead<uint16_t>(kernels.table(), k, v, slice, layer, kv_head);
          break;
        default:
          WriteHead<int8_t>(kernels.table(), k, v, slice, layer, kv_head);
      }
    }
  });
}

void Attend(const SimdKernels& kernels, const AttentionSpec& spec, MatrixView<float> q,
            absl::Span<const SequenceSlice> slices, const KvLayer& layer, const LinearInput& out,
            ThreadPool& pool, AttentionScratch& scratch) {
  const int64_t kv_heads = layer.layout.num_key_value_heads;
  PHYLLO_CHECK(spec.num_attention_heads > 0 && spec.num_attention_heads % kv_heads == 0);
  PHYLLO_CHECK(spec.sliding_window.value_or(1) >= 1 && spec.soft_cap >= 0.0f);
  PHYLLO_CHECK(q.cols == spec.num_attention_heads * layer.layout.head_dim && out.cols == q.cols &&
               out.rows == q.rows);
  PHYLLO_CHECK(scratch.num_workers() >= pool.num_threads() &&
               scratch.max_slices() >= static_cast<int64_t>(slices.size()));
  PHYLLO_CHECK(PagesSuffice(slices, layer.layout.page_size));
  const Job job{kernels.table(), spec, q, layer, out};
  const absl::Span<int64_t> task_begin = scratch.task_begin();
  const int64_t rows_per_task = RowsPerTask(job, slices, pool.num_threads());
  task_begin[0] = 0;
  for (size_t s = 0; s < slices.size(); ++s)
    task_begin[s + 1] =
        task_begin[s] + kv_heads * CeilDiv(slices[s].row_count * job.group(), rows_per_task);
  pool.ParallelFor(task_begin[slices.size()], [&](int64_t task, int worker) {
    const auto after =
        std::upper_bound(task_begin.begin(), task_begin.begin() + slices.size(), task);
    const size_t s = static_cast<size_t>(after - task_begin.begin()) - 1;
    const int64_t rows = slices[s].row_count * job.group();
    const int64_t index = task - task_begin[s];
    const int64_t first = (CeilDiv(rows, rows_per_task) - 1 - index / kv_heads) * rows_per_task;
    RunTask(job, {slices[s], index % kv_heads, first, std::min(rows_per_task, rows - first)},
            scratch.Worker(worker));
  });
  if (out.precision == Precision::kInt8) QuantiseRows(job, pool);
}

}  // namespace phyllo
