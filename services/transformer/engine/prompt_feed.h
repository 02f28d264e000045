// The embedded rows of one prompt, pulled from the client a bounded distance ahead of the prefill.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_PROMPT_FEED_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_PROMPT_FEED_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace phyllo {

// Positions [first_position, first_position + count) of a prompt.
struct RowRange {
  int64_t first_position = 0;
  int64_t count = 0;
};

// Says which rows to ask for, takes them in the order they were asked for, hands them out once. At
// most two chunks are asked for or held at a time. After Restart or SkipTo rows that are still on
// their way are recognised and dropped. Thread-compatible.
class PromptFeed {
 public:
  // prompt_count >= 0 rows of hidden_size floats, asked for in chunks of at most chunk_size >= 1.
  PromptFeed(int64_t prompt_count, int64_t hidden_size, int64_t chunk_size);

  // The next range to ask for, if it is time: call again after every Read and Accept. What is
  // returned counts as asked for.
  std::optional<RowRange> NextNeed();

  // Takes rows [n, hidden_size], n >= 1, from first_position on: part or all of the oldest
  // unanswered range. INVALID_ARGUMENT, naming what was expected, if they were not asked for or do
  // not fit.
  absl::Status Accept(int64_t first_position, std::vector<float> rows);

  // Copies the next `count` rows to `out` [count, hidden_size] and drops them. Requires
  // next_position() + count <= ready_count().
  void Read(int64_t count, absl::Span<float> out);

  // Starts again at position 0; everything will be asked for once more.
  void Restart();

  // Goes on at `position`, in [next_position(), prompt_count]: rows before it are not needed.
  void SkipTo(int64_t position);

  int64_t next_position() const { return next_position_; }  // the first not yet read
  // Positions below have been read, or are held, or not needed.
  int64_t ready_count() const { return std::max(ready_count_, next_position_); }
  bool waiting_for_rows() const { return !asked_.empty(); }  // something asked for has not arrived

 private:
  struct Asked {
    RowRange range;      // what is still to come of it
    bool stale = false;  // asked for before a Restart
  };

  const int64_t prompt_count_;
  const int64_t hidden_size_;
  const int64_t chunk_size_;
  int64_t next_position_ = 0;
  int64_t ready_count_ = 0;  // below next_position_ while rows that are not needed are on their way
  int64_t asked_count_ = 0;  // positions below have been asked for
  std::deque<Asked> asked_;
  std::deque<std::vector<float>>
      held_;  // rows [next_position_, ready_count_), the first `read_offset_` floats already read
  int64_t read_offset_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_PROMPT_FEED_H_
