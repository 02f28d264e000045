#include "model/base/exception_barrier.h"

#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

// As dnnl::error: derived from std::exception directly.
class LibraryError : public std::exception {
 public:
  const char* what() const noexcept override { return "could not create a primitive"; }
};

TEST(CatchExceptionsTest, PassesResultsOn) {
  int calls = 0;
  PHYLLO_EXPECT_OK(CatchExceptions("count", [&] { ++calls; }));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(CatchExceptions("fail", [] { return absl::NotFoundError("gone"); }),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
  PHYLLO_ASSERT_OK_AND_ASSIGN(
      const std::string text,
      CatchExceptions("text", []() -> absl::StatusOr<std::string> { return "t"; }));
  EXPECT_EQ(text, "t");
}

TEST(CatchExceptionsTest, ReturnsInternalForStandardException) {
  EXPECT_THAT(CatchExceptions("parse", [] { throw std::runtime_error("bad"); }),
              StatusIs(absl::StatusCode::kInternal, "parse: bad"));
}

TEST(CatchExceptionsTest, ReturnsInternalForLibraryException) {
  EXPECT_THAT(CatchExceptions("pack", []() -> absl::StatusOr<int> { throw LibraryError(); }),
              StatusIs(absl::StatusCode::kInternal, "pack: could not create a primitive"));
}

TEST(CatchExceptionsTest, ReturnsResourceExhaustedForBadAlloc) {
  EXPECT_THAT(CatchExceptions("allocate", []() -> absl::Status { throw std::bad_alloc(); }),
              StatusIs(absl::StatusCode::kResourceExhausted, "allocate: out of memory"));
}

TEST(CatchExceptionsTest, ReturnsInternalForAnythingElse) {
  EXPECT_THAT(CatchExceptions("odd", [] { throw 7; }),
              StatusIs(absl::StatusCode::kInternal, "odd: unknown exception"));
}

}  // namespace
}  // namespace phyllo
