// GoogleTest matchers for absl::Status and absl::StatusOr. There is deliberately no "is not ok": a
// test names the code.
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x")));
//   PHYLLO_ASSERT_OK_AND_ASSIGN(const Config config, ReadConfig(path));
#ifndef PHYLLO_MODEL_BASE_STATUS_MATCHERS_H_
#define PHYLLO_MODEL_BASE_STATUS_MATCHERS_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_macros.h"

namespace phyllo {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is not ok" : "is ok") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

MATCHER_P2(StatusIs, code, message_matcher,
           "has code " + absl::StatusCodeToString(code) + " and a message that " +
               ::testing::DescribeMatcher<std::string>(message_matcher, negation)) {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(StatusOf(arg).message()),
                                       result_listener);
}

inline auto StatusIs(absl::StatusCode code) { return StatusIs(code, ::testing::_); }

}  // namespace phyllo

#define PHYLLO_ASSERT_OK(expression) ASSERT_THAT(expression, ::phyllo::IsOk())
#define PHYLLO_EXPECT_OK(expression) EXPECT_THAT(expression, ::phyllo::IsOk())

#define PHYLLO_ASSERT_OK_AND_ASSIGN(declaration, expression)                                      \
  PHYLLO_ASSERT_OK_AND_ASSIGN_IMPL(PHYLLO_MACRO_CONCAT(phyllo_status_or_, __LINE__), declaration, \
                                   expression)

#define PHYLLO_ASSERT_OK_AND_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                                             \
  PHYLLO_ASSERT_OK(result);                                               \
  declaration = *std::move(result)

#endif  // PHYLLO_MODEL_BASE_STATUS_MATCHERS_H_
