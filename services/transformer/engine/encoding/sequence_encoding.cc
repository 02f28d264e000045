#include "services/transformer/engine/encoding/sequence_encoding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"

namespace phyllo {

EncodingRequest ResolveEncoding(const EncodingRequest& encoding, const StepModelSizes& sizes) {
  if (encoding.pooling) return {.pooling = encoding.pooling};
  if (sizes.head == HeadKind::kLabels) return {.pooling = Pooling::kLast, .labels = true};
  return {.pooling = sizes.default_pooling};
}

absl::Status CheckHead(const SequenceRequest& request, const StepModelSizes& sizes,
                       int64_t max_encoding_elements) {
  if (!request.encoding) {
    if (sizes.head == HeadKind::kLmHead) return absl::OkStatus();
    const std::string has = sizes.head == HeadKind::kLabels
                                ? absl::StrCat("a label head with ", sizes.num_labels, " outputs")
                                : "no head: it gives embeddings";
    return absl::FailedPreconditionError(
        absl::StrCat("the model cannot generate or score: it has no LM head, but ", has));
  }
  if (request.max_new_tokens != 0 || request.first_scored_index)
    return absl::InvalidArgumentError("an encoding cannot generate or score as well");
  const auto count = static_cast<int64_t>(request.prompt_token_ids.size());
  const int64_t max_count = max_encoding_elements / sizes.hidden_size;
  if (ResolveEncoding(*request.encoding, sizes).pooling == Pooling::kNone && count > max_count) {
    return absl::InvalidArgumentError(absl::StrCat("pooling none of ", count, " tokens gives ",
                                                   count, " vectors of ", sizes.hidden_size,
                                                   " elements; at most ", max_count, " tokens"));
  }
  return absl::OkStatus();
}

absl::Status EncodeRows(StepModel& model, MatrixView<float> rows, Sequence& sequence) {
  if (!sequence.request.encoding) return absl::OkStatus();
  if (!sequence.pooler) {
    sequence.pooler.emplace(*sequence.request.encoding->pooling, sequence.prompt_count(),
                            model.sizes().hidden_size);
  }
  Pooler& pooler = *sequence.pooler;
  const int64_t begin = sequence.computed_count;
  const int64_t end = begin + rows.rows;
  const Pooler::Positions wanted = pooler.Wanted(begin, end);
  if (!wanted.empty()) {
    const MatrixView<float> chosen = rows.SubRows(wanted.begin - begin, wanted.end - wanted.begin);
    PHYLLO_RETURN_IF_ERROR(model.ApplyFinalNorm(chosen));
    pooler.SkipTo(wanted.begin);
    pooler.Add(chosen);
  }
  pooler.SkipTo(end);
  if (!pooler.complete()) return absl::OkStatus();

  SequenceEncoding encoding = {
      .rows = pooler.output_rows(), .cols = model.sizes().hidden_size, .values = pooler.Finish()};
  if (sequence.request.encoding->labels) {
    std::vector<float> logits(model.sizes().num_labels);
    PHYLLO_RETURN_IF_ERROR(model.ApplyLabelHead(encoding.values, absl::MakeSpan(logits)));
    encoding = {.is_labels = true,
                .rows = 1,
                .cols = model.sizes().num_labels,
                .values = std::move(logits)};
  }
  if (!std::all_of(encoding.values.begin(), encoding.values.end(),
                   [](float value) { return std::isfinite(value); })) {
    sequence.step_status = absl::InternalError("the encoding is not finite");
  }
  sequence.encoding = std::move(encoding);
  return absl::OkStatus();
}

}  // namespace phyllo
