// Conversations of the wire to conversations of the model library.
#ifndef PHYLLO_SERVICES_TOKENIZER_CHAT_CONVERSION_H_
#define PHYLLO_SERVICES_TOKENIZER_CHAT_CONVERSION_H_

#include "absl/status/statusor.h"
#include "model/tokenizer/chat_template.h"
#include "phyllo/common/v1/chat.pb.h"

namespace phyllo {

// Absent fields of a message are absent keys for the template. INVALID_ARGUMENT with the field if
// there is no message, a role is empty, or a field that holds JSON does not parse as the kind of
// JSON it should be, is nested too deep or has an object of too many keys.
absl::StatusOr<ChatRequest> ConvertChat(const common::v1::Chat& chat, bool parse_special_tokens);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TOKENIZER_CHAT_CONVERSION_H_
