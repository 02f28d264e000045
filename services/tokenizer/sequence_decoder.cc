#include "services/tokenizer/sequence_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "services/common/status_bridge.h"

namespace phyllo {

using tokenizer::v1::DecodeSequenceOptions;
using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;

std::string TokenBytes(const Tokenizer& tokenizer, int32_t token_id) {
  absl::optional<TokenInfo> info = tokenizer.FindToken(token_id);
  return info.has_value() ? std::move(info->bytes) : std::string();
}

SequenceDecoder::SequenceDecoder(const Tokenizer& tokenizer, const DecodeSequenceOptions& options)
    : tokenizer_(tokenizer),
      decoder_(tokenizer, !options.has_skip_special_tokens() || options.skip_special_tokens()) {
  if (!options.prompt_tail_token_ids().empty()) decoder_.Seed(options.prompt_tail_token_ids());
}

void SequenceDecoder::Decode(const DecodeSequenceRequest& request,
                             DecodeSequenceResponse& response) {
  response.set_sequence_id(request.sequence_id());
  std::string text = decoder_.Append(request.token_ids());
  if (request.finish()) text += decoder_.Finish();
  response.set_text_delta(std::move(text));
  for (const int32_t token_id : request.lookup_token_ids())
    response.add_lookup_tokens(TokenBytes(tokenizer_, token_id));
}

absl::Status SequenceDecoders::Decode(const tokenizer::v1::DecodeSequencesRequest& request,
                                      tokenizer::v1::DecodeSequencesResponse& response) {
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
    decoder->second.Decode(piece, *response.add_pieces());
    if (piece.finish()) decoders_.erase(decoder);
  }
  return absl::OkStatus();
}

}  // namespace phyllo
