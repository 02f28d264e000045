// A drafter that knows the answers, and errs as often as it is told to.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_REPLAY_DRAFTER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_REPLAY_DRAFTER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "services/transformer/engine/speculation/drafter.h"

namespace phyllo {

// Goes on as a text that it knows; of tokens it does not know it drafts any. Thread-compatible.
class ReplayDrafter final : public Drafter {
 public:
  // Tokens of [0, vocab_size); the part `error_rate` of them is another than the text's, as a fixed
  // seed decides.
  ReplayDrafter(int64_t vocab_size, double error_rate)
      : vocab_size_(vocab_size), error_rate_(error_rate) {}

  // A prompt and what follows.
  void Learn(std::vector<int32_t> text) { texts_.push_back(std::move(text)); }

  DraftWork Draft(absl::Span<const DraftTask> tasks) override;
  void Forget(SequenceId id) override { forgotten_.push_back(id); }

  const std::vector<SequenceId>& forgotten() const { return forgotten_; }

 private:
  const int64_t vocab_size_;
  const double error_rate_;
  std::vector<std::vector<int32_t>> texts_;
  std::vector<SequenceId> forgotten_;
  int64_t draw_count_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_REPLAY_DRAFTER_H_
