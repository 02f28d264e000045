#include "model/base/max_isa.h"

#include <cstdlib>

#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

TEST(MaxIsaTest, IsWhatTheNameSaysInUpperOrLowerCase) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const MaxIsa avx2, ParseMaxIsa("avx2"));
  EXPECT_EQ(avx2, MaxIsa::kAvx2);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const MaxIsa vnni, ParseMaxIsa("AVX512_CORE_VNNI"));
  EXPECT_EQ(vnni, MaxIsa::kAvx512CoreVnni);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const MaxIsa all, ParseMaxIsa("DEFAULT"));
  EXPECT_EQ(all, MaxIsa::kAll);
}

TEST(MaxIsaTest, ReturnsInvalidArgumentWithAllNamesForAnother) {
  EXPECT_THAT(ParseMaxIsa("AVX3"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("PHYLLO_MAX_ISA is \"AVX3\", must be one of AVX2, AVX2_VNNI")));
}

TEST(MaxIsaTest, IsThatOfTheEnvironment) {
  ASSERT_EQ(setenv("PHYLLO_MAX_ISA", "AVX512_CORE", /*overwrite=*/1), 0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const MaxIsa isa, MaxIsaOfEnvironment());
  EXPECT_EQ(isa, MaxIsa::kAvx512Core);
  ASSERT_EQ(unsetenv("PHYLLO_MAX_ISA"), 0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const MaxIsa none, MaxIsaOfEnvironment());
  EXPECT_EQ(none, MaxIsa::kAll);
}

}  // namespace
}  // namespace phyllo
