#include "clients/cpp/answer_collector.h"

#include <utility>

namespace phyllo {

void AnswerCollector::Add(const gateway::v1::GenerateResponse& message) {
  gateway::v1::Choice& choice = choices_[message.choice_index()];
  if (message.has_delta()) {
    gateway::v1::Delta& answer = *choice.mutable_answer();
    answer.mutable_text()->append(message.delta().text());
    answer.mutable_token_ids()->MergeFrom(message.delta().token_ids());
    answer.mutable_logprobs()->MergeFrom(message.delta().logprobs());
  } else if (message.has_finished()) {
    *choice.mutable_finished() = message.finished();
  }
}

gateway::v1::GenerateUnaryResponse AnswerCollector::TakeAnswer() {
  gateway::v1::GenerateUnaryResponse response;
  for (auto& [index, choice] : choices_) *response.add_choices() = std::move(choice);
  choices_.clear();
  return response;
}

}  // namespace phyllo
