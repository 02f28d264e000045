#ifndef PHYLLO_MODEL_TENSOR_MATRIX_VIEW_H_
#define PHYLLO_MODEL_TENSOR_MATRIX_VIEW_H_

#include <cstdint>
#include <type_traits>

namespace phyllo {

// A borrowed row-major matrix [rows, cols]; element (i, j) lies at data[i * stride + j], stride >=
// cols. What lies between cols and stride is padding whose content the user of the view defines. A
// value type: copying it copies no element. It owns nothing, so whoever made it keeps the memory
// alive.
template <typename T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;  // in elements

  // Row i, [cols]. Requires 0 <= i < rows.
  T* Row(int64_t i) const { return data + i * stride; }

  // Rows [begin, begin + count) of this matrix. Requires 0 <= begin, begin + count <= rows.
  MatrixView SubRows(int64_t begin, int64_t count) const {
    return {data + begin * stride, count, cols, stride};
  }

  // Columns [begin, begin + count) of every row. Requires 0 <= begin, begin + count <= cols.
  MatrixView SubCols(int64_t begin, int64_t count) const {
    return {data + begin, rows, count, stride};
  }

  // A writable view is usable where a read-only one is asked for.
  operator MatrixView<const T>() const { return {data, rows, cols, stride}; }
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TENSOR_MATRIX_VIEW_H_
