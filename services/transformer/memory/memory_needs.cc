#include "services/transformer/memory/memory_needs.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "model/kv_cache/page_allocator.h"
#include "model/kv_cache/sequence_pages.h"
#include "services/common/message_limits.h"

namespace phyllo {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

}  // namespace

int64_t KvCacheBytes(const StepModel& model, int64_t kv_bytes_per_token) {
  // A node of the prefix cache: its tokens, and its places in two maps.
  constexpr int64_t kNodeBytes = 512;
  const int64_t page_size = model.sizes().page_size;
  int64_t page_count = 0;
  int64_t tokens = 0;
  for (const KvPageGroup& group : model.page_groups()) {
    page_count += group.allocator->page_count();
    tokens = std::max(tokens, group.allocator->page_count() * page_size);
  }
  return tokens * kv_bytes_per_token +
         page_count * (kNodeBytes + page_size * static_cast<int64_t>(sizeof(int32_t)));
}

int64_t MaxRequestMessageBytes(const StepModelSizes& sizes, const EngineOptions& options) {
  constexpr int64_t kFixedBytes = 2 << 20;  // banned sequences and everything else of a fixed bound
  constexpr int64_t kIdBytes = 16;          // of a varint, in the prompt and in another list
  const int64_t rows = options.max_prefill_rows * sizes.hidden_size * kFloatBytes;
  const int64_t ids =
      kIdBytes * (options.max_sequence_length.value_or(sizes.max_positions) + sizes.vocab_size);
  return std::min<int64_t>(kFixedBytes + std::max(rows, ids), kMaxMessageBytes);
}

MemoryNeeds NeedsOf(const StepModel& model, const EngineOptions& options,
                    const MemoryLimits& limits) {
  constexpr int64_t kSamplerBytesPerLogit = 32;
  constexpr int64_t kProgramBytes = 64 << 20;
  // A message is there serialised and as an object.
  constexpr int64_t kMessageCopies = 2;
  const StepModelSizes& sizes = model.sizes();
  MemoryNeeds needs;
  needs.loaded = limits.loaded_bytes;
  needs.kv_cache = KvCacheBytes(model, limits.kv_bytes_per_token);
  needs.step_buffers = kFloatBytes * (sizes.max_rows * sizes.hidden_size +
                                      sizes.max_logits_rows * sizes.vocab_size) +
                       kSamplerBytesPerLogit * model.num_threads() * sizes.vocab_size;
  // A sequence has two chunks asked for or at hand; the one that is next in line has them as well.
  needs.prompt_rows =
      kFloatBytes * (options.max_sequences + 1) * 2 * options.max_prefill_rows * sizes.hidden_size;
  needs.requests = limits.max_request_bytes;
  needs.transport = limits.max_transport_bytes;
  needs.messages = kMessageCopies * limits.reading_threads * MaxRequestMessageBytes(sizes, options);
  // What is allocated and freed all the time leaves holes behind.
  needs.program = kProgramBytes + (needs.prompt_rows + needs.requests + needs.messages) / 8;
  return needs;
}

absl::Status CheckMemoryNeeds(const MemoryNeeds& needs, int64_t limit_bytes) {
  if (limit_bytes <= 0 || needs.total() <= limit_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the process may come to use ", needs.total(), " bytes, the limit is ", limit_bytes,
      ": loaded model ", needs.loaded, ", KV cache ", needs.kv_cache, " (--kv_cache_bytes), step ",
      needs.step_buffers, " (--max_batch_tokens), prompt rows ", needs.prompt_rows,
      " (--max_sequences, --max_prefill_tokens), requests ", needs.requests,
      " (--max_request_bytes), transport ", needs.transport, " (--max_transport_bytes), messages ",
      needs.messages, ", program ", needs.program));
}

int64_t ParseAnonymousBytes(absl::string_view status) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::ConsumePrefix(&line, "RssAnon:") || !absl::ConsumeSuffix(&line, "kB")) continue;
    int64_t kilobytes = 0;
    if (absl::SimpleAtoi(line, &kilobytes) && kilobytes >= 0) return kilobytes * 1024;
  }
  return 0;
}

int64_t ReadAnonymousBytes() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/status").rdbuf();
  return ParseAnonymousBytes(text.str());
}

}  // namespace phyllo
