// What the prefix cache did in a span of time.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_COUNTS_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_COUNTS_H_

#include <cstdint>

namespace phyllo {

struct PrefixCounts {
  int64_t query_count = 0;         // prompt tokens of sequences that began
  int64_t hit_count = 0;           // of them, those that were found
  int64_t evicted_page_count = 0;  // pages that were remembered until they got another use
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_PREFIX_PREFIX_COUNTS_H_
