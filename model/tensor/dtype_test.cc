#include "model/tensor/dtype.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The definition of binary16, in double arithmetic.
double F16Definition(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

TEST(DTypeTest, ParsesEveryNameBack) {
  for (int i = 0; i <= static_cast<int>(DType::kF8E5M2); ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype) << DTypeName(dtype);
  }
}

TEST(DTypeTest, ReturnsNulloptForUnknownName) {
  EXPECT_EQ(ParseDType("bf16"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(DTypeTest, KnowsByteSizes) {
  EXPECT_EQ(ByteSize(DType::kF32), 4);
  EXPECT_EQ(ByteSize(DType::kF16), 2);
  EXPECT_EQ(ByteSize(DType::kBf16), 2);
  EXPECT_EQ(ByteSize(DType::kI64), 8);
  EXPECT_EQ(ByteSize(DType::kBool), 1);
}

TEST(DTypeTest, AcceptsOnlyFloatsAsWeights) {
  EXPECT_TRUE(IsWeightDType(DType::kF32));
  EXPECT_TRUE(IsWeightDType(DType::kF16));
  EXPECT_TRUE(IsWeightDType(DType::kBf16));
  EXPECT_FALSE(IsWeightDType(DType::kF64));
  EXPECT_FALSE(IsWeightDType(DType::kI64));
}

TEST(DTypeTest, WidensEveryF16AsDefined) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double want = F16Definition(static_cast<uint16_t>(bits));
    const float got = F16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(got), want) << bits;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << bits;
    }
  }
}

TEST(DTypeTest, NarrowsEveryF16BackToItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = F16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToF16(value), bits);
  }
}

TEST(DTypeTest, RoundsToNearestEvenF16) {
  // Between every two neighbours: the midpoint goes to the even one, a bit to either side to the
  // nearer one.
  for (uint32_t low = 0; low < 0x7bff; ++low) {
    const float a = F16ToFloat(static_cast<uint16_t>(low));
    const float b = F16ToFloat(static_cast<uint16_t>(low + 1));
    const float middle = a + (b - a) / 2;  // exact in float
    ASSERT_EQ(FloatToF16(middle), (low & 1) == 0 ? low : low + 1) << low;
    ASSERT_EQ(FloatToF16(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(FloatToF16(std::nextafter(middle, kInfinity)), low + 1) << low;
    ASSERT_EQ(FloatToF16(-middle), 0x8000 | ((low & 1) == 0 ? low : low + 1)) << low;
  }
}

TEST(DTypeTest, OverflowsToInfinityInF16) {
  EXPECT_EQ(FloatToF16(65519.99f), 0x7bff);
  EXPECT_EQ(FloatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToF16(-1e30f), 0xfc00);
  EXPECT_EQ(FloatToF16(kInfinity), 0x7c00);
}

TEST(DTypeTest, KeepsNanWhenNarrowed) {
  EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(std::nanf("")))));
  EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(std::nanf("")))));
  // The payload bits that survive the cut are all zero here; the result must not become infinity.
  const float signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(signalling))));
  EXPECT_TRUE(std::isnan(F16ToFloat(FloatToF16(signalling))));
}

TEST(DTypeTest, NarrowsEveryBf16BackToItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = Bf16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToBf16(value), bits);
  }
}

TEST(DTypeTest, RoundsToNearestEvenBf16) {
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);  // tie, even below
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);  // tie, even above
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x3f807fffu)), 0x3f80);
  EXPECT_EQ(FloatToBf16(std::bit_cast<float>(0x7f7fffffu)),
            0x7f80);  // the largest float becomes infinity
}

TEST(DTypeTest, ConvertsUnalignedArrays) {
  const std::vector<float> values = {0.0f, -1.5f, 3.25f, 65504.0f, 0x1p-24f, -0x1p-14f, 1e-3f};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBf16}) {
    std::vector<uint8_t> bytes(values.size() * ByteSize(dtype) + 1);
    ConvertFromFloat(values, dtype, bytes.data() + 1);
    std::vector<float> back(values.size());
    ConvertToFloat(dtype, bytes.data() + 1, absl::MakeSpan(back));
    for (size_t i = 0; i < values.size(); ++i) {
      const float want = dtype == DType::kF32   ? values[i]
                         : dtype == DType::kF16 ? F16ToFloat(FloatToF16(values[i]))
                                                : Bf16ToFloat(FloatToBf16(values[i]));
      EXPECT_EQ(back[i], want) << DTypeName(dtype) << " " << i;
    }
  }
}

}  // namespace
}  // namespace phyllo
