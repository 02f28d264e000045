// Early return on error, in the manner of absl's later macros.
//   PHYLLO_RETURN_IF_ERROR(DoIt());
//   PHYLLO_ASSIGN_OR_RETURN(const Config config, ReadConfig(path));
#ifndef PHYLLO_MODEL_BASE_STATUS_MACROS_H_
#define PHYLLO_MODEL_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define PHYLLO_RETURN_IF_ERROR(expression)           \
  do {                                               \
    absl::Status phyllo_status_ = (expression);      \
    if (!phyllo_status_.ok()) return phyllo_status_; \
  } while (false)

#define PHYLLO_MACRO_CONCAT_INNER(a, b) a##b
#define PHYLLO_MACRO_CONCAT(a, b) PHYLLO_MACRO_CONCAT_INNER(a, b)

#define PHYLLO_ASSIGN_OR_RETURN(declaration, expression)                                      \
  PHYLLO_ASSIGN_OR_RETURN_IMPL(PHYLLO_MACRO_CONCAT(phyllo_status_or_, __LINE__), declaration, \
                               expression)

#define PHYLLO_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return std::move(result).status();                \
  declaration = *std::move(result)

#endif  // PHYLLO_MODEL_BASE_STATUS_MACROS_H_
