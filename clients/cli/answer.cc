#include "clients/cli/answer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/terminal/progress_line.h"
#include "clients/cpp/answer_collector.h"

namespace phyllo {
namespace {

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) * 1e-9;
}

std::string DescribeEnd(const gateway::v1::Finished& finished) {
  switch (finished.finish_reason()) {
    case common::v1::FINISH_REASON_EOS:
      return "end of sequence";
    case common::v1::FINISH_REASON_STOP_TOKEN:
      return absl::StrCat("stop token ", finished.stop_token_id());
    case common::v1::FINISH_REASON_STOP_SEQUENCE:
      return "stop sequence";
    case common::v1::FINISH_REASON_LENGTH:
      return "length limit";
    case common::v1::FINISH_REASON_CONTEXT_LIMIT:
      return "context is full";
    case common::v1::FINISH_REASON_TIME_LIMIT:
      return "time limit";
    case common::v1::FINISH_REASON_CONSTRAINT:
      return "constraint is met";
    default:
      return "unknown end";
  }
}

void WriteText(const std::string& text, Terminal& terminal) {
  terminal.out << text;
  if (!absl::EndsWith(text, "\n")) terminal.out << "\n";
  terminal.out << std::flush;
}

}  // namespace

Answer Generate(Client& client, const gateway::v1::GenerateRequest& request,
                const CallOptions& options, Interrupts& interrupts, GenerateObserver observer) {
  const std::shared_ptr<GenerateStream> stream = client.StreamGenerate(request, options);
  interrupts.Add(stream);
  AnswerCollector collector;
  absl::Status status;
  while (true) {
    const absl::StatusOr<std::optional<gateway::v1::GenerateResponse>> message = stream->Next();
    if (!message.ok()) {
      status = interrupts.interrupted() ? absl::CancelledError("interrupted") : message.status();
      break;
    }
    if (!message->has_value()) break;
    observer(**message);
    collector.Add(**message);
  }
  interrupts.Remove(stream.get());
  return {collector.TakeAnswer(), std::move(status)};
}

Answer GenerateToTerminal(Client& client, const gateway::v1::GenerateRequest& request,
                          const CallOptions& options, Interrupts& interrupts, Terminal& terminal) {
  const bool streams = request.choice_count() <= 1;
  ProgressLine line(terminal);
  std::string last_delta = "\n";
  const auto show = [&](const gateway::v1::GenerateResponse& message) {
    if (message.has_prefill_progress()) line.Show(DescribePrefill(message.prefill_progress()));
    if (!message.has_delta() || message.delta().text().empty() || !streams) return;
    line.Clear();
    last_delta = message.delta().text();
    terminal.out << last_delta << std::flush;
  };
  Answer answer = Generate(client, request, options, interrupts, show);
  line.Clear();
  if (streams && !absl::EndsWith(last_delta, "\n")) terminal.out << std::endl;
  for (int i = 0; i < answer.response.choices_size(); ++i) {
    const gateway::v1::Choice& choice = answer.response.choices(i);
    if (!streams) {
      terminal.out << "[choice " << i << "]\n";
      WriteText(choice.answer().text(), terminal);
    }
    if (terminal.err_is_terminal && choice.has_finished())
      terminal.err << DescribeSpeed(choice.finished()) << std::endl;
  }
  return answer;
}

std::string DescribeSpeed(const gateway::v1::Finished& finished) {
  const int64_t generated = finished.usage().generated_token_count();
  // The first token belongs to the prefill.
  const double decode = Seconds(finished.latency().decode());
  std::string text = absl::StrFormat("[%d tokens", generated);
  if (generated > 1 && decode > 0)
    absl::StrAppendFormat(&text, ", %.1f tokens/s", static_cast<double>(generated - 1) / decode);
  absl::StrAppendFormat(&text, "; prompt %d tokens", finished.usage().prompt_token_count());
  if (finished.usage().cached_prompt_token_count() > 0)
    absl::StrAppendFormat(&text, " (%d cached)", finished.usage().cached_prompt_token_count());
  absl::StrAppendFormat(&text, ", %.2f s to the first; %s; seed %d]",
                        Seconds(finished.latency().time_to_first_token()), DescribeEnd(finished),
                        finished.resolved().sampling().seed());
  return text;
}

}  // namespace phyllo
