#include "services/transformer/engine/sampling/row_sampling.h"

#include <cstdint>
#include <utility>

#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/sequence_outbox.h"

namespace phyllo {
namespace {

// The counts of the sequence once `token_id`, sampled and not yet appended, is part of it.
SequenceCounts CountsWith(const Sequence& sequence, int32_t token_id) {
  const SequenceDraft& draft = sequence.draft;
  return {.preemption_count = sequence.preemption_count,
          .drafted_token_count = draft.total_drafted + static_cast<int64_t>(draft.tokens.size()),
          .accepted_token_count =
              draft.total_accepted + draft.accepted_count + (draft.Accepts(token_id) ? 1 : 0)};
}

}  // namespace

RowSampling::RowSampling(int num_workers, int64_t vocab_size) {
  for (int worker = 0; worker < num_workers; ++worker) samplers_.emplace_back(vocab_size);
}

absl::StatusOr<SampledToken> RowSampling::TokenOf(const StepBatch::LogitsRow& row,
                                                  const StepBatch::RowLogits& logits, int worker) {
  const Sequence& sequence = *row.sequence;
  const int64_t index = row.position + 1;
  if (row.largest_only) return TakeLargest(logits.largest);
  if (index < sequence.prompt_count()) {
    return DescribeToken(logits.all, sequence.token_ids[index], sequence.request.prompt_logprobs);
  }
  return samplers_[worker].Sample(logits.all, sequence.history, sequence.request.sampling, index);
}

void RowSampling::Take(const StepBatch::LogitsRow& row, const StepBatch::RowLogits& logits,
                       int worker) {
  Sequence& sequence = *row.sequence;
  if (!sequence.step_status.ok() || sequence.draft.ended) return;
  const int64_t index = row.position + 1;
  const bool scores = index < sequence.prompt_count();
  absl::StatusOr<SampledToken> token = TokenOf(row, logits, worker);
  if (!token.ok()) {
    sequence.step_status = std::move(token).status();
    return;
  }
  const int32_t token_id = token->token_id;
  sequence.step_status =
      scores ? sequence.outbox->AddScoredToken(index, *std::move(token))
             : sequence.outbox->AddToken(sequence.generated_count(), *std::move(token),
                                         CountsWith(sequence, token_id));
  if (!sequence.step_status.ok()) return;
  if (scores) {
    sequence.next_scored_index = index + 1;
  } else {
    sequence.Append(token_id);
    sequence.draft.Verify(token_id);
    sequence.sampled = true;
  }
}

}  // namespace phyllo
