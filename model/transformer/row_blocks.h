// Cuts work on independent rows over the threads of a pool.
#ifndef PHYLLO_MODEL_TRANSFORMER_ROW_BLOCKS_H_
#define PHYLLO_MODEL_TRANSFORMER_ROW_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "model/parallel/thread_pool.h"

namespace phyllo {

// Calls function(begin, count) for blocks that cover rows [0, rows) once, in parallel where it
// pays: `cols` says how many elements a row has. The function must treat each row by itself, so
// that the cut never shows in the result.
inline void ForEachRowBlock(ThreadPool& pool, int64_t rows, int64_t cols,
                            absl::FunctionRef<void(int64_t begin, int64_t count)> function) {
  constexpr int64_t kParallelElements = 16384;  // below it the hand-over costs more than the work
  constexpr int64_t kMostRowsPerTask = 8;
  if (rows * cols <= kParallelElements || pool.num_threads() == 1) {
    function(0, rows);
    return;
  }
  const int64_t rows_per_task =
      std::clamp<int64_t>(rows / (4 * pool.num_threads()), 1, kMostRowsPerTask);
  pool.ParallelFor((rows + rows_per_task - 1) / rows_per_task, [&](int64_t task, int /*worker*/) {
    const int64_t begin = task * rows_per_task;
    function(begin, std::min(rows_per_task, rows - begin));
  });
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TRANSFORMER_ROW_BLOCKS_H_
