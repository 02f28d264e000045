// Debian's patch for CVE-2025-0838 put a check into the header raw_hash_set.h, which calls this;
// upstream's sources of the version do not have it.

#include "absl/base/internal/raw_logging.h"
#include "absl/container/internal/raw_hash_set.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace container_internal {

void HashTableSizeOverflow() { ABSL_RAW_LOG(FATAL, "Hash table size overflow"); }

}  // namespace container_internal
ABSL_NAMESPACE_END
}  // namespace absl
