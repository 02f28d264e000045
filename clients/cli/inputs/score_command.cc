#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/inputs/input_commands.h"
#include "clients/cli/inputs/input_request.h"

namespace phyllo {
namespace {

// The token's bytes, those that are not printable as \ooo, or its id if the gateway gave none.
std::string TokenText(const common::v1::TokenLogprob& token) {
  return token.has_token() ? absl::Utf8SafeCEscape(token.token()) : absl::StrCat(token.token_id());
}

void PrintTokens(const gateway::v1::ScoreResponse& response, Terminal& terminal) {
  for (const common::v1::PositionLogprobs& position : response.logprobs()) {
    const common::v1::TokenLogprob& chosen = position.chosen();
    terminal.out << absl::StreamFormat("%.4f\t%d\t%s", chosen.logprob(), chosen.rank(),
                                       TokenText(chosen));
    for (const common::v1::TokenLogprob& top : position.top())
      terminal.out << absl::StreamFormat("\t%s %.4f", TokenText(top), top.logprob());
    terminal.out << "\n";
  }
}

}  // namespace

int ScoreCommand(const ScoreOptions& options, Terminal& terminal, Interrupts& interrupts) {
  using gateway::v1::ScoreRequest;
  using gateway::v1::ScoreResponse;
  return AnswerInput<ScoreOptions, ScoreRequest, ScoreResponse>(
      options, &Client::Score,
      [&](const std::vector<std::string>& texts, ScoreRequest& request) {
        if (!texts.empty()) request.set_text(texts.front());
        const std::vector<int32_t>& ids = options.input.ids;
        if (!ids.empty()) request.mutable_token_ids()->mutable_ids()->Add(ids.begin(), ids.end());
        return absl::OkStatus();
      },
      [&](const ScoreResponse& response) {
        if (!options.summary) PrintTokens(response, terminal);
        const gateway::v1::ScoreSummary& summary = response.summary();
        terminal.out << absl::StreamFormat("tokens %d, total log-probability %.4f, perplexity %.6g",
                                           response.logprobs_size(), summary.total_logprob(),
                                           summary.perplexity())
                     << std::endl;
      },
      terminal, interrupts);
}

}  // namespace phyllo
