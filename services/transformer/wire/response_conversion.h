// From the engine to the wire.
#ifndef PHYLLO_SERVICES_TRANSFORMER_WIRE_RESPONSE_CONVERSION_H_
#define PHYLLO_SERVICES_TRANSFORMER_WIRE_RESPONSE_CONVERSION_H_

#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "phyllo/transformer/v1/generate.pb.h"
#include "phyllo/transformer/v1/transformer.pb.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/engine/sequence_outbox.h"

namespace phyllo {

// What differs between the streams of a sequence: how they begin and what their news looks like.
// Thread-compatible.
class GenerateConversation {
 public:
  using Request = transformer::v1::GenerateRequest;
  using Response = transformer::v1::GenerateResponse;

  // As ToSequenceRequest.
  absl::StatusOr<SequenceRequest> Begin(const transformer::v1::GenerateStart& start);
  // Appends the messages that say `news`; of a result only if it is OK.
  void Append(SequenceNews news, std::deque<Response>& responses);

 private:
  bool with_logprobs_ = false;
};

class ScoreConversation {
 public:
  using Request = transformer::v1::ScoreRequest;
  using Response = transformer::v1::ScoreResponse;

  absl::StatusOr<SequenceRequest> Begin(const transformer::v1::ScoreStart& start);
  void Append(SequenceNews news, std::deque<Response>& responses);

 private:
  double total_logprob_ = 0.0;
};

class EncodeConversation {
 public:
  using Request = transformer::v1::EncodeRequest;
  using Response = transformer::v1::EncodeResponse;

  absl::StatusOr<SequenceRequest> Begin(const transformer::v1::EncodeStart& start);
  void Append(SequenceNews news, std::deque<Response>& responses);

 private:
  bool keeps_rows_ = false;  // the output is [n, hidden_size], even for one token
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_WIRE_RESPONSE_CONVERSION_H_
