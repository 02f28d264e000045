// A model whose next token is a hash of all tokens that its groups of layers see, read back through
// the KV pages: a page that is lost, shared by mistake, or written at the wrong place changes the
// tokens.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FAKE_STEP_MODEL_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FAKE_STEP_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "model/sampling/logits_row.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// A row is (token id, position); hidden_size is 2. Fails loudly (INTERNAL) on rows that are out of
// place. Thread-compatible.
class FakeStepModel final : public StepModel {
 public:
  static constexpr int64_t kVocabSize = 16;
  static constexpr int32_t kPoison =
      13;  // a sequence with this token has logits that are not finite

  // One group of layers that sees everything.
  FakeStepModel(int64_t page_count, int64_t page_size, int64_t max_rows = 64,
                int64_t max_logits_rows = 4, int64_t max_positions = 1000);
  // A group for each window, with as many pages as page_counts says.
  using Windows = std::vector<std::optional<int64_t>>;
  FakeStepModel(const std::vector<int64_t>& page_counts, Windows windows, int64_t page_size,
                int64_t max_rows = 64);

  // Logits [v] after these tokens, computed without pages.
  static std::vector<float> LogitsAfter(absl::Span<const int32_t> token_ids,
                                        const Windows& windows = {std::nullopt});
  // The greedy continuation of `prompt` by `count` tokens.
  static std::vector<int32_t> GreedyContinuation(std::vector<int32_t> prompt, int64_t count,
                                                 const Windows& windows = {std::nullopt});

  const StepModelSizes& sizes() const override { return sizes_; }
  absl::Span<const KvPageGroup> page_groups() const override { return page_groups_; }
  PageAllocator& page_allocator(int64_t group = 0) { return *groups_[group]->allocator; }
  void CopyPage(int64_t group, int32_t source, int32_t target) override;
  int64_t ReusablePositions(int64_t /*prompt_length*/) const override {
    return reusable_positions_;
  }
  absl::Status Embed(absl::Span<const int32_t> token_ids, int64_t first_position,
                     absl::Span<float> out) override;
  absl::Status Forward(absl::Span<const StepSlice> slices,
                       MatrixView<float> hidden_states) override;
  absl::Status ComputeLogits(absl::Span<const int64_t> rows, MatrixView<const float> hidden_states,
                             absl::Span<LargestLogit> largest, MatrixView<float> logits) override;
  // A hidden state (hash, position) becomes (-100 * hash, position), so that a row that is
  // normalised twice, or not at all, shows; the poison's is not a number.
  absl::Status ApplyFinalNorm(MatrixView<float> rows) override;
  // Label i is x[0] + i * x[1] of the normalised row x.
  absl::Status ApplyLabelHead(absl::Span<const float> hidden_state,
                              absl::Span<float> logits) override;
  int num_threads() const override { return 1; }
  void ParallelFor(int64_t num_tasks,
                   absl::FunctionRef<void(int64_t task, int worker)> function) override;

  // The hidden state after the final norm [2] behind these tokens, computed without pages.
  static std::vector<float> FinalHiddenState(absl::Span<const int32_t> token_ids);
  // Gives the model another head than the LM head.
  void set_head(HeadKind head, int64_t num_labels) {
    sizes_.head = head;
    sizes_.num_labels = num_labels;
  }

  // Row counts of the slices of every step so far, in the order of the batch.
  const std::vector<std::vector<int64_t>>& steps() const { return steps_; }
  // What ReusablePositions says of every prompt.
  void set_reusable_positions(int64_t count) { reusable_positions_ = count; }
  // Called at the beginning of every Forward, whose status it decides.
  void set_on_forward(std::function<absl::Status()> on_forward) {
    on_forward_ = std::move(on_forward);
  }
  // Called likewise, with the slices of the step: to make it take time on a fake clock.
  void set_on_slices(std::function<void(absl::Span<const StepSlice>)> on_slices) {
    on_slices_ = std::move(on_slices);
  }

 private:
  // The pages of one group of layers.
  struct Group {
    std::optional<PageAllocator> allocator;
    std::vector<int32_t> cached_tokens;  // [page_count * page_size]
  };

  void AddGroup(int64_t page_count, std::optional<int64_t> window);
  // The hash of the tokens that the row at `position` sees; INTERNAL if a page is missing.
  absl::StatusOr<uint32_t> HashAt(const SequencePages& pages, int64_t position) const;

  StepModelSizes sizes_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::vector<KvPageGroup> page_groups_;
  int64_t reusable_positions_ = 1000;
  std::vector<std::vector<int64_t>> steps_;
  std::function<absl::Status()> on_forward_;
  std::function<void(absl::Span<const StepSlice>)> on_slices_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_FAKE_STEP_MODEL_H_
