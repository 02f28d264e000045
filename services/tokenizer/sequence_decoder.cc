#include "services/tokenizer/sequence_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "services/common/status_bridge.h"

namespace phyllo {

using tokenizer::v1::DecodeSequenceOptions;
using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;

namespace {

// Ids that are decoded between two looks at the size of the answer.
constexpr size_t kIdsAtOnce = 4096;
// Of the tag and the length before the bytes of a field.
constexpr int64_t kFieldBytes = 2;

}  // namespace

std::string TokenBytes(const Tokenizer& tokenizer, int32_t token_id) {
  absl::optional<TokenInfo> info = tokenizer.FindToken(token_id);
  return info.has_value() ? std::move(info->bytes) : std::string();
}

absl::Status AnswerSize::Add(size_t byte_count) {
  bytes_ += static_cast<int64_t>(byte_count) + kFieldBytes;
  if (bytes_ <= max_bytes_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ids stand for more than the ", max_bytes_, " bytes of an answer"));
}

SequenceDecoder::SequenceDecoder(const Tokenizer& tokenizer, const DecodeSequenceOptions& options)
    : tokenizer_(tokenizer),
      decoder_(tokenizer, !options.has_skip_special_tokens() || options.skip_special_tokens()) {
  if (!options.prompt_tail_token_ids().empty()) decoder_.Seed(options.prompt_tail_token_ids());
}

absl::Status SequenceDecoder::Decode(const DecodeSequenceRequest& request, AnswerSize& size,
                                     DecodeSequenceResponse& response) {
  response.set_sequence_id(request.sequence_id());
  std::string text;
  for (absl::Span<const int32_t> ids = request.token_ids(); !ids.empty();) {
    const absl::Span<const int32_t> next = ids.subspan(0, kIdsAtOnce);
    ids.remove_prefix(next.size());
    const std::string delta = decoder_.Append(next);
    PHYLLO_RETURN_IF_ERROR(size.Add(delta.size()));
    text += delta;
  }
  if (request.finish()) text += decoder_.Finish();
  response.set_text_delta(std::move(text));
  for (const int32_t token_id : request.lookup_token_ids()) {
    std::string bytes = TokenBytes(tokenizer_, token_id);
    PHYLLO_RETURN_IF_ERROR(size.Add(bytes.size()));
    response.add_lookup_tokens(std::move(bytes));
  }
  return absl::OkStatus();
}

absl::Status SequenceDecoders::Decode(const tokenizer::v1::DecodeSequencesRequest& request,
                                      tokenizer::v1::DecodeSequencesResponse& response) {
  AnswerSize size(max_answer_bytes_);
  for (const DecodeSequenceRequest& piece : request.pieces()) {
    auto decoder = decoders_.find(piece.sequence_id());
    if (decoder == decoders_.end()) {
      if (static_cast<int64_t>(decoders_.size()) >= kMaxSequences) {
        return absl::ResourceExhaustedError(
            absl::StrCat(kMaxSequences, " sequences are open; more are not accepted"));
      }
      decoder = decoders_.emplace(piece.sequence_id(), SequenceDecoder(tokenizer_, piece.options()))
                    .first;
    } else if (piece.has_options()) {
      return InvalidField("options", "may be given in the first request of a sequence only");
    }
    PHYLLO_RETURN_IF_ERROR(decoder->second.Decode(piece, size, *response.add_pieces()));
    if (piece.finish()) decoders_.erase(decoder);
  }
  return absl::OkStatus();
}

}  // namespace phyllo
