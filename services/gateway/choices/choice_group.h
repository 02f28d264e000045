// All choices of a request, side by side.
#ifndef PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_GROUP_H_
#define PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_GROUP_H_

#include "absl/status/status.h"
#include "services/gateway/answers/response_sink.h"
#include "services/gateway/async/task.h"
#include "services/gateway/choices/choice_run.h"
#include "services/gateway/requests/gateway_metrics.h"

namespace phyllo {

// Runs every choice and sends its messages with its number. The first starts alone; the others, all
// side by side, when the transformer has computed the prompt, so that they find its keys and values
// there. With best_of the answers are held back until all have ended; then the best
// by mean log-probability are sent, the best first, whose usage counts the tokens and drafts of the
// others as well. If one fails, all end, and so does the request. Adds what was counted to `trace`.
Task<absl::Status> RunChoices(const ChoiceParts& parts, ResponseSink& sink, GenerationTrace& trace);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_CHOICES_CHOICE_GROUP_H_
