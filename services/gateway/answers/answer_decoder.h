// Generated ids to the text of the answer: a sequence of the tokenizer service and the stop matcher
// behind it.
#ifndef PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_DECODER_H_
#define PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_DECODER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "phyllo/tokenizer/v1/tokenizer.pb.h"
#include "services/gateway/answers/stop_matcher.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/decode_multiplexer.h"

namespace phyllo {

struct AnswerDecoderOptions {
  bool skip_special_tokens = true;
  // The last ids of the prompt, as DecodeSequenceOptions wants them.
  std::vector<int32_t> prompt_tail_token_ids;
  std::vector<std::string> stop_sequences;
  bool include_stop_sequence = false;
};

// What Append settled.
struct DecodedTokens {
  std::string text;        // Valid UTF-8, to be given out.
  int64_t used_count = 0;  // Of the ids: all, or up to the one that completed a stop sequence.
  std::vector<std::string> lookup_tokens;  // Bytes of the lookup ids, in order.
};

// Owns the sequence; ends it if it dies before Finish. Whether and where a stop sequence ends the
// answer does not depend on how ids are grouped into calls of Append. Errors are the client's
// status: UNAVAILABLE names the tokenizer. Thread-compatible.
class AnswerDecoder {
 public:
  // `parent` is the client's call: Append and Finish give up when it is cancelled. Borrows both.
  AnswerDecoder(DecodeMultiplexer& multiplexer, ParentCall& parent,
                const AnswerDecoderOptions& options);
  AnswerDecoder(const AnswerDecoder&) = delete;
  AnswerDecoder& operator=(const AnswerDecoder&) = delete;

  // The next ids, and ids whose bytes are wanted beside the text. Not after stopped() or Finish.
  Task<absl::StatusOr<DecodedTokens>> Append(absl::Span<const int32_t> token_ids,
                                             absl::Span<const int32_t> lookup_token_ids);

  // No more ids come: returns the text that was held back. It may still complete a stop sequence.
  Task<absl::StatusOr<std::string>> Finish();

  // Index of the stop sequence that ended the text, if one did.
  std::optional<int64_t> stopped() const { return matcher_.matched(); }

 private:
  void Send(absl::Span<const int32_t> token_ids, absl::Span<const int32_t> lookup_token_ids,
            bool finish);

  const bool one_by_one_;  // There are stop sequences: each id is a request of its own, so that it
                           // is known which one completed a match.
  StopMatcher matcher_;
  tokenizer::v1::DecodeSequenceOptions options_;
  bool options_sent_ = false;
  DecodeSequence sequence_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ANSWERS_ANSWER_DECODER_H_
