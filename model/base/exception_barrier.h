// Where a library that throws ends: the only try/catch of the project.
//   return CatchExceptions("create matmul", [&] { primitive = dnnl::matmul(...); });
#ifndef PHYLLO_MODEL_BASE_EXCEPTION_BARRIER_H_
#define PHYLLO_MODEL_BASE_EXCEPTION_BARRIER_H_

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// Calls `function`, which returns nothing, an absl::Status or an absl::StatusOr<T>; returns
// absl::Status in the first two cases and absl::StatusOr<T> in the third: what the function
// returned, or, if it threw,
//   std::bad_alloc -> RESOURCE_EXHAUSTED,
//   any other std::exception -> INTERNAL with its what(),
//   anything else -> INTERNAL.
// The message begins with `what` was being done.
template <typename Function>
auto CatchExceptions(absl::string_view what, Function&& function) {
  using Returned = std::invoke_result_t<Function&&>;
  using Result = std::conditional_t<std::is_void_v<Returned>, absl::Status, Returned>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<Function>(function)();
      return absl::OkStatus();
    } else {
      return std::forward<Function>(function)();
    }
  } catch (const std::bad_alloc&) {
    return Result(absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory")));
  } catch (const std::exception& error) {
    return Result(absl::InternalError(absl::StrCat(what, ": ", error.what())));
  } catch (...) {
    return Result(absl::InternalError(absl::StrCat(what, ": unknown exception")));
  }
}

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_EXCEPTION_BARRIER_H_
