#include "services/transformer/engine/testing/replay_drafter.h"

#include <algorithm>
#include <cstdint>

#include "model/sampling/philox.h"

namespace phyllo {

DraftWork ReplayDrafter::Draft(absl::Span<const DraftTask> tasks) {
  constexpr uint64_t kSeed = 17;
  DraftWork work;
  for (const DraftTask& task : tasks) {
    work.round_count = std::max(work.round_count, task.max_count);
    const auto known =
        std::find_if(texts_.begin(), texts_.end(), [&](const std::vector<int32_t>& text) {
          return text.size() > task.token_ids.size() &&
                 std::equal(task.token_ids.begin(), task.token_ids.end(), text.begin());
        });
    for (int64_t i = 0; i < task.max_count; ++i) {
      const size_t index = task.token_ids.size() + static_cast<size_t>(i);
      const double draw = UniformDraw(kSeed, /*choice=*/0, draw_count_++);
      auto token = static_cast<int32_t>(UniformDraw(kSeed, /*choice=*/1, draw_count_) *
                                        static_cast<double>(vocab_size_));
      if (known != texts_.end() && index < known->size()) {
        const int32_t right = (*known)[index];
        if (draw >= error_rate_) {
          token = right;
        } else if (token == right) {
          token = static_cast<int32_t>((right + 1) % vocab_size_);
        }
      }
      task.tokens->push_back(token);
    }
  }
  return work;
}

}  // namespace phyllo
