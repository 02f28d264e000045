#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "clients/cli/inputs/input_commands.h"
#include "clients/cli/inputs/input_request.h"

namespace phyllo {
namespace {

// The ids of `input` as the only input, or the texts. `request` is an EmbedRequest or a
// ClassifyRequest.
template <typename Request>
absl::Status AddInputs(const InputOptions& input, const std::vector<std::string>& texts,
                       Request& request) {
  if (!input.ids.empty())
    request.add_token_ids()->mutable_ids()->Add(input.ids.begin(), input.ids.end());
  for (const std::string& text : texts) request.add_texts(text);
  return absl::OkStatus();
}

}  // namespace

int EmbedCommand(const EmbedOptions& options, Terminal& terminal, Interrupts& interrupts) {
  using gateway::v1::EmbedRequest;
  using gateway::v1::EmbedResponse;
  return AnswerInput<EmbedOptions, EmbedRequest, EmbedResponse>(
      options, &Client::Embed,
      [&](const std::vector<std::string>& texts, EmbedRequest& request) {
        return AddInputs(options.input, texts, request);
      },
      [&](const EmbedResponse& response) {
        for (const gateway::v1::EmbeddingVector& vector : response.vectors()) {
          // Nine digits give back the same float.
          for (int i = 0; i < vector.values_size(); ++i)
            terminal.out << (i > 0 ? " " : "") << absl::StreamFormat("%.9g", vector.values(i));
          terminal.out << "\n";
        }
        terminal.out << std::flush;
      },
      terminal, interrupts);
}

int ClassifyCommand(const ClassifyOptions& options, Terminal& terminal, Interrupts& interrupts) {
  using gateway::v1::ClassifyRequest;
  using gateway::v1::ClassifyResponse;
  using gateway::v1::LabelScore;
  return AnswerInput<ClassifyOptions, ClassifyRequest, ClassifyResponse>(
      options, &Client::Classify,
      [&](const std::vector<std::string>& texts, ClassifyRequest& request) {
        return AddInputs(options.input, texts, request);
      },
      [&](const ClassifyResponse& response) {
        for (int i = 0; i < response.classifications_size(); ++i) {
          const auto& scores = response.classifications(i).scores();
          std::vector<LabelScore> sorted(scores.begin(), scores.end());
          std::stable_sort(
              sorted.begin(), sorted.end(),
              [](const LabelScore& a, const LabelScore& b) { return a.score() > b.score(); });
          if (i > 0) terminal.out << "\n";
          for (const LabelScore& score : sorted)
            terminal.out << score.label() << absl::StreamFormat("\t%.6g\n", score.score());
        }
        terminal.out << std::flush;
      },
      terminal, interrupts);
}

}  // namespace phyllo
