#include "model/onednn/weight_packing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "model/onednn/integer/int4_layout.h"
#include "model/onednn/integer/quantize.h"
#include "model/tensor/dtype.h"

namespace phyllo {
namespace {

static_assert(Int4Layout::kPanel == kLinearPanel && Int4Layout::kGroup == kInt4Group);

// Elements packed at a time: a block of kPackBlock x kPackBlock stays in the first-level cache.
constexpr int64_t kPackBlock = 64;
// Output features quantised at a time: what a cache line of kInOut in f32 holds.
constexpr int64_t kQuantizedRows = 16;

// Reads the block [out_count, in_count] of a stored tensor that begins at (out_begin, in_begin)
// into block[out * block_stride + in].
void ReadBlock(const WeightSlice& weight, int64_t out_begin, int64_t out_count, int64_t in_begin,
               int64_t in_count, int64_t block_stride, float* block) {
  const auto* const data = static_cast<const std::byte*>(weight.data);
  const int64_t size = ByteSize(weight.dtype);
  if (weight.layout == WeightSlice::Layout::kOutIn) {
    const int64_t stride = weight.stride > 0 ? weight.stride : weight.in_features;
    for (int64_t o = 0; o < out_count; ++o) {
      ConvertToFloat(weight.dtype, data + ((out_begin + o) * stride + in_begin) * size,
                     absl::MakeSpan(block + o * block_stride, static_cast<size_t>(in_count)));
    }
    return;
  }
  const int64_t stride = weight.stride > 0 ? weight.stride : weight.out_features;
  float row[kPackBlock];
  for (int64_t i = 0; i < in_count; ++i) {
    ConvertToFloat(weight.dtype, data + ((in_begin + i) * stride + out_begin) * size,
                   absl::MakeSpan(row, static_cast<size_t>(out_count)));
    for (int64_t o = 0; o < out_count; ++o) block[o * block_stride + i] = row[o];
  }
}

// Writes that block into a panel, its first output feature to column `column`.
void WriteBlock(const float* block, int64_t out_count, int64_t in_begin, int64_t in_count,
                int64_t column, Precision precision, std::byte* panel) {
  if (precision == Precision::kF32) {
    auto* const target = reinterpret_cast<float*>(panel) + column;
    for (int64_t i = 0; i < in_count; ++i) {
      for (int64_t o = 0; o < out_count; ++o)
        target[(in_begin + i) * kLinearPanel + o] = block[o * kPackBlock + i];
    }
    return;
  }
  auto* const target = reinterpret_cast<uint16_t*>(panel);
  for (int64_t i = 0; i < in_count; ++i) {
    const int64_t k = in_begin + i;
    uint16_t* const row = target + (k / 2 * kLinearPanel + column) * 2 + k % 2;
    for (int64_t o = 0; o < out_count; ++o) row[o * 2] = FloatToBf16(block[o * kPackBlock + i]);
  }
}

void PackPlain(const WeightSlice& weight, const PanelLayout& layout, int64_t row_begin,
               std::byte* panels) {
  const int64_t row_end = row_begin + weight.out_features;
  float block[kPackBlock * kPackBlock];
  for (int64_t row = row_begin; row < row_end;) {
    const int64_t column = row % kLinearPanel;
    const int64_t out_count = std::min({kLinearPanel - column, kPackBlock, row_end - row});
    std::byte* const panel = panels + row / kLinearPanel * layout.panel_bytes();
    for (int64_t in = 0; in < weight.in_features; in += kPackBlock) {
      const int64_t in_count = std::min(kPackBlock, weight.in_features - in);
      ReadBlock(weight, row - row_begin, out_count, in, in_count, kPackBlock, block);
      WriteBlock(block, out_count, in, in_count, column, layout.precision(), panel);
    }
    row += out_count;
  }
}

// One output feature on its way into a panel.
struct QuantizedRow {
  explicit QuantizedRow(size_t k) : q(k), multipliers((k + kInt4Group - 1) / kInt4Group) {}

  std::vector<int8_t> q;             // [k]
  std::vector<uint8_t> multipliers;  // of int4: a group each
};

// Both write the weights w [k] to column `column` of a panel, and return the sum of their integers.
int32_t PackInt8Row(absl::Span<const float> w, const PanelLayout& layout, int64_t column,
                    QuantizedRow& row, std::byte* panel) {
  layout.Scales(panel)[column] = QuantizeToInt8(w, absl::MakeSpan(row.q));
  int32_t sum = 0;
  auto* const target = reinterpret_cast<int8_t*>(panel) + column * 4;
  for (size_t k = 0; k < row.q.size(); ++k) {
    target[k / 4 * kLinearPanel * 4 + k % 4] = row.q[k];
    sum += row.q[k];
  }
  return sum;
}

int32_t PackInt4Row(absl::Span<const float> w, const PanelLayout& layout, int64_t column,
                    QuantizedRow& row, std::byte* panel) {
  layout.Scales(panel)[column] =
      QuantizeToInt4(w, absl::MakeSpan(row.multipliers), absl::MakeSpan(row.q));
  // Sets one half of a byte.
  const auto set = [&](int64_t byte, bool upper, int value) {
    auto& target = reinterpret_cast<uint8_t*>(panel)[byte];
    target = static_cast<uint8_t>(upper ? (target & 0x0f) | (value & 15) << 4
                                        : (target & 0xf0) | (value & 15));
  };
  for (size_t group = 0; group < row.multipliers.size(); ++group) {
    set(Int4Layout::MultiplierByte(static_cast<int64_t>(group) * kInt4Group, column),
        group % 2 == 1, row.multipliers[group]);
  }
  int32_t sum = 0;
  for (size_t k = 0; k < row.q.size(); ++k) {
    set(Int4Layout::WeightByte(static_cast<int64_t>(k), column), k % 8 >= 4, row.q[k]);
    sum += row.multipliers[k / kInt4Group] * row.q[k];
  }
  return sum;
}

void PackQuantized(const WeightSlice& weight, const PanelLayout& layout, int64_t row_begin,
                   std::byte* panels) {
  const auto k = static_cast<size_t>(weight.in_features);
  std::vector<float> rows(kQuantizedRows * k);
  QuantizedRow quantized(k);
  const auto pack_row = layout.precision() == Precision::kInt4 ? PackInt4Row : PackInt8Row;
  for (int64_t begin = 0; begin < weight.out_features; begin += kQuantizedRows) {
    const int64_t count = std::min(kQuantizedRows, weight.out_features - begin);
    ReadBlock(weight, begin, count, 0, weight.in_features, weight.in_features, rows.data());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = row_begin + begin + i;
      const int64_t column = row % kLinearPanel;
      std::byte* const panel = panels + row / kLinearPanel * layout.panel_bytes();
      const int32_t sum =
          pack_row(absl::MakeConstSpan(rows).subspan(i * k, k), layout, column, quantized, panel);
      layout.Offsets(panel)[column] = LinearInput::kInt8Zero * sum;
    }
  }
}

}  // namespace

void PackWeights(const WeightSlice& weight, const PanelLayout& layout, int64_t row_begin,
                 std::byte* panels) {
  const bool quantized = InputPrecision(layout.precision()) == Precision::kInt8;
  (quantized ? PackQuantized : PackPlain)(weight, layout, row_begin, panels);
}

}  // namespace phyllo
