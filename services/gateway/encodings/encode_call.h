// Many inputs through the transformer's Encode.
#ifndef PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODE_CALL_H_
#define PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODE_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phyllo/gateway/v1/encode.pb.h"
#include "phyllo/transformer/v1/transformer.pb.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend_set.h"
#include "services/gateway/requests/admission.h"

namespace phyllo {

// Most texts, or sequences of ids, of one request.
inline constexpr int64_t kMaxEncodeInputs = 2048;
// Most of them under way at once: enough to fill a batch, few enough that requests share it.
inline constexpr int kMaxConcurrentInputs = 16;

// What Embed and Classify have in common. Borrows the request's fields.
struct EncodeInputs {
  const google::protobuf::RepeatedPtrField<std::string>& texts;
  const google::protobuf::RepeatedPtrField<gateway::v1::TokenIds>& token_ids;
  bool add_special_tokens = true;
  const common::v1::RequestContext& context;

  int64_t count() const { return texts.empty() ? token_ids.size() : texts.size(); }
  // "texts[3]" or "token_ids[3]".
  std::string FieldName(int64_t index) const;
};

// INVALID_ARGUMENT, naming the field and the limit, unless there are 1 to kMaxEncodeInputs inputs
// of one kind and the context is in its ranges.
absl::Status ValidateEncodeInputs(const EncodeInputs& inputs);

// The inputs of one request on one transformer. All are tokenized and checked before the first is
// computed. One is under way, and more, up to kMaxConcurrentInputs, for every place that the
// gateway's admission has left: so there are never more under way than places. Borrows its
// arguments. Thread-compatible.
class EncodeCall {
 public:
  EncodeCall(BackendSet& backends, Admission& admission, TransformerLease& lease,
             const ParentCall& parent);

  // The outputs in the order of the inputs. Errors are the client's status and name the input.
  Task<absl::StatusOr<std::vector<transformer::v1::EncodeFinished>>> Run(
      const EncodeInputs& inputs, common::v1::Pooling pooling, AdmissionPermit& permit);

 private:
  Task<absl::StatusOr<std::vector<int32_t>>> Tokenize(const EncodeInputs& inputs, int64_t index);
  Task<absl::StatusOr<transformer::v1::EncodeFinished>> Encode(
      const transformer::v1::EncodeStart& start, const std::vector<int32_t>& token_ids,
      bool& transformer_is_gone);

  BackendSet& backends_;
  Admission& admission_;
  TransformerLease& lease_;
  const ParentCall& parent_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_ENCODINGS_ENCODE_CALL_H_
