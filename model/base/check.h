// Assertions on the programmer's own promises: never on bytes from the network, the disk or a user.
//   PHYLLO_CHECK(out.size() == n * d);
// A failure prints the condition and where it is, and aborts. PHYLLO_DCHECK is for inner loops:
// nothing if NDEBUG is defined.
#ifndef PHYLLO_MODEL_BASE_CHECK_H_
#define PHYLLO_MODEL_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace phyllo {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace phyllo

#define PHYLLO_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::phyllo::CheckFailed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define PHYLLO_DCHECK(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#else
#define PHYLLO_DCHECK(condition) PHYLLO_CHECK(condition)
#endif

#endif  // PHYLLO_MODEL_BASE_CHECK_H_
