#include "model/onednn/linear_kernels.h"

#include <cstdlib>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/tensor/huge_page_arena.h"
#include "model/tensor/linear_input.h"

namespace phyllo {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ImplementationNameTest, NamesTheLibraryTheInstructionSetAndTheTypes) {
  EXPECT_EQ(ImplementationName(Precision::kF32), absl::StrCat("onednn ", IsaName(), " f32"));
  EXPECT_THAT(ImplementationName(Precision::kBf16),
              AnyOf("phyllo avx2 bf16", "phyllo avx512_core_bf16 bf16",
                    absl::StrCat("onednn ", IsaName(), " bf16")));
  EXPECT_THAT(ImplementationName(Precision::kInt8), EndsWith(" u8s8"));
  EXPECT_THAT(ImplementationName(Precision::kInt4), EndsWith(" u8s8 of unpacked s4"));
}

TEST(LinearKernelsTest, SharesASetBetweenLayersOfEqualWidth) {
  LinearKernels kernels;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto first, kernels.Get(48, Precision::kF32));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto second, kernels.Get(48, Precision::kF32));
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto other, kernels.Get(49, Precision::kF32));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
}

TEST(LinearScratchTest, ReturnsInvalidArgumentWhenThereAreNoWorkers) {
  HugePageArena arena;
  EXPECT_THAT(LinearScratch::Create(0, arena),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("num_workers is 0")));
}

TEST(LinearKernelsTest, ReturnsInvalidArgumentWhenTheBoundIsNoInstructionSet) {
  ASSERT_EQ(setenv("PHYLLO_MAX_ISA", "AVX3", /*overwrite=*/1), 0);
  LinearKernels kernels;
  EXPECT_THAT(kernels.Get(48, Precision::kF32),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PHYLLO_MAX_ISA is")));
  ASSERT_EQ(unsetenv("PHYLLO_MAX_ISA"), 0);
}

}  // namespace
}  // namespace phyllo
