// Shows that the part of oneDNN that is built (onednn.BUILD) is whole: matrix products of f32, bf16
// and 8-bit integers, with B packed by the library's transform, against the plain triple loop.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_ukernel.h"

namespace {

// Sizes that are no multiple of any vector or tile, except where the transform wants one (n: 16,
// 32, 48 or 64).
constexpr dnnl_dim_t kM = 13;
constexpr dnnl_dim_t kN = 48;
constexpr dnnl_dim_t kK = 72;

size_t SizeOf(dnnl_data_type_t type) { return dnnl_data_type_size(type); }

// Writes integers -4..4 (u8: 0..8), exact in every type, so that the product is exact too. Returns
// them as floats.
std::vector<float> Fill(dnnl_data_type_t type, size_t count, uint32_t seed,
                        std::vector<uint8_t>& bytes) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  bytes.assign(count * SizeOf(type), 0);
  for (size_t i = 0; i < count; ++i) {
    const int value = static_cast<int>(random() % 9) - (type == dnnl_u8 ? 0 : 4);
    values[i] = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &values[i], sizeof(bits));
    if (type == dnnl_bf16) {
      bits >>= 16;
    } else if (type == dnnl_s8 || type == dnnl_u8) {
      bits = static_cast<uint8_t>(value);
    }
    std::memcpy(&bytes[i * SizeOf(type)], &bits, SizeOf(type));
  }
  return values;
}

// B [kK, kN], packed if the kernel wants it packed.
std::vector<uint8_t> Pack(dnnl_data_type_t type, dnnl_pack_type_t pack_type,
                          const std::vector<uint8_t>& b) {
  if (pack_type == dnnl_pack_type_no_trans) return b;
  std::vector<uint8_t> packed(b.size());
  dnnl_transform_t transform = nullptr;
  EXPECT_EQ(dnnl_transform_create(&transform, kK, kN, dnnl_pack_type_no_trans, kN, kN, type, type),
            dnnl_success);
  EXPECT_EQ(dnnl_transform_generate(transform), dnnl_success);
  EXPECT_EQ(dnnl_transform_execute(transform, b.data(), packed.data()), dnnl_success);
  EXPECT_EQ(dnnl_transform_destroy(transform), dnnl_success);
  return packed;
}

// The types of A [kM, kK], B [kK, kN] and C [kM, kN].
struct Types {
  dnnl_data_type_t a;
  dnnl_data_type_t b;
  dnnl_data_type_t c;
};

// C = A B as bytes; empty if this machine has no kernel for the types.
std::vector<uint8_t> Multiply(const Types& types, const std::vector<uint8_t>& a,
                              const std::vector<uint8_t>& b) {
  dnnl_brgemm_t brgemm = nullptr;
  dnnl_status_t status = dnnl_brgemm_create(&brgemm, kM, kN, kK, /*batch_size=*/1, kK, kN, kN,
                                            types.a, types.b, types.c);
  if (status == dnnl_success) {
    EXPECT_EQ(dnnl_brgemm_set_add_C(brgemm, 0), dnnl_success);
    status = dnnl_brgemm_finalize(brgemm);
  }
  if (status == dnnl_unimplemented) {
    dnnl_brgemm_destroy(brgemm);
    return {};
  }
  EXPECT_EQ(status, dnnl_success);
  dnnl_pack_type_t pack_type = dnnl_pack_type_undef;
  EXPECT_EQ(dnnl_brgemm_get_B_pack_type(brgemm, &pack_type), dnnl_success);
  size_t scratchpad_bytes = 0;
  EXPECT_EQ(dnnl_brgemm_get_scratchpad_size(brgemm, &scratchpad_bytes), dnnl_success);
  EXPECT_EQ(dnnl_brgemm_generate(brgemm), dnnl_success);
  const std::vector<uint8_t> packed = Pack(types.b, pack_type, b);
  std::vector<uint8_t> scratchpad(scratchpad_bytes + 1);
  std::vector<uint8_t> c(kM * kN * SizeOf(types.c));
  const dnnl_dim_t offsets[2] = {0, 0};
  EXPECT_EQ(dnnl_brgemm_set_hw_context(brgemm), dnnl_success);
  EXPECT_EQ(
      dnnl_brgemm_execute(brgemm, a.data(), packed.data(), offsets, c.data(), scratchpad.data()),
      dnnl_success);
  EXPECT_EQ(dnnl_brgemm_release_hw_context(), dnnl_success);
  EXPECT_EQ(dnnl_brgemm_destroy(brgemm), dnnl_success);
  return c;
}

// Element `index` of C as a float.
float Element(dnnl_data_type_t type, const std::vector<uint8_t>& c, size_t index) {
  int32_t bits = 0;
  std::memcpy(&bits, &c[index * sizeof(bits)], sizeof(bits));
  if (type == dnnl_s32) return static_cast<float>(bits);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

class UkernelTest : public testing::TestWithParam<Types> {};

TEST_P(UkernelTest, EqualsTripleLoop) {
  const Types types = GetParam();
  std::vector<uint8_t> a_bytes;
  std::vector<uint8_t> b_bytes;
  const std::vector<float> a = Fill(types.a, kM * kK, 1, a_bytes);
  const std::vector<float> b = Fill(types.b, kK * kN, 2, b_bytes);

  const std::vector<uint8_t> c = Multiply(types, a_bytes, b_bytes);

  std::printf("isa 0x%x\n", static_cast<unsigned>(dnnl_get_effective_cpu_isa()));
  if (c.empty()) {
    ASSERT_NE(types.a, dnnl_f32) << "every machine of the baseline has f32";
    GTEST_SKIP() << "no kernel for these types on this machine";
  }
  for (dnnl_dim_t m = 0; m < kM; ++m) {
    for (dnnl_dim_t n = 0; n < kN; ++n) {
      float want = 0;
      for (dnnl_dim_t k = 0; k < kK; ++k) want += a[m * kK + k] * b[k * kN + n];
      ASSERT_EQ(Element(types.c, c, m * kN + n), want) << "at [" << m << ", " << n << "]";
    }
  }
}

// u8 by s8: for s8 by s8 a machine without AMX adds 128 to A, and the caller has to take 128 B's
// column sums off again.
INSTANTIATE_TEST_SUITE_P(F32, UkernelTest, testing::Values(Types{dnnl_f32, dnnl_f32, dnnl_f32}));
INSTANTIATE_TEST_SUITE_P(Bf16, UkernelTest, testing::Values(Types{dnnl_bf16, dnnl_bf16, dnnl_f32}));
INSTANTIATE_TEST_SUITE_P(Int8, UkernelTest, testing::Values(Types{dnnl_u8, dnnl_s8, dnnl_s32}));

}  // namespace
