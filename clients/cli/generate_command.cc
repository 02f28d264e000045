// --json-lines: workers take the next line of input under a lock, and the main thread writes the
// results in the order of the lines.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "clients/cli/answer.h"
#include "clients/cli/commands.h"
#include "clients/cli/prompt_text.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/single_answer.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {
namespace {

// One line of input with its number, from 1.
struct InputLine {
  int64_t number;
  std::string text;
};

// Hands out the lines that are not blank. Thread-safe.
class LineSource {
 public:
  LineSource(std::istream& in, const Interrupts& interrupts) : interrupts_(interrupts), in_(in) {}

  // The index of the line among those handed out, and the line; no value at the end or after an
  // interrupt.
  std::optional<std::pair<int64_t, InputLine>> Next() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::string text;
    while (!interrupts_.interrupted() && std::getline(in_, text)) {
      ++line_number_;
      if (!absl::StripAsciiWhitespace(text).empty())
        return std::make_pair(next_index_++, InputLine{line_number_, std::move(text)});
    }
    return std::nullopt;
  }

 private:
  const Interrupts& interrupts_;
  absl::Mutex mutex_;
  std::istream& in_ ABSL_GUARDED_BY(mutex_);
  int64_t line_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_index_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Results on their way from the workers to the writer. Thread-safe.
class ResultQueue {
 public:
  explicit ResultQueue(int worker_count) : worker_count_(worker_count) {}

  void Put(int64_t index, nlohmann::ordered_json result) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    results_.emplace(index, std::move(result));
  }

  void WorkerEnds() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --worker_count_;
  }

  // The results in the order of their indexes; blocks. No value when all workers have ended and
  // nothing is left.
  std::optional<nlohmann::ordered_json> Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &ResultQueue::CanTake));
    const auto found = results_.find(next_index_);
    if (found == results_.end()) return std::nullopt;
    ++next_index_;
    nlohmann::ordered_json result = std::move(found->second);
    results_.erase(found);
    return result;
  }

 private:
  bool CanTake() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return worker_count_ == 0 || results_.count(next_index_) > 0;
  }

  absl::Mutex mutex_;
  int worker_count_ ABSL_GUARDED_BY(mutex_);
  int64_t next_index_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, nlohmann::ordered_json> results_ ABSL_GUARDED_BY(mutex_);
};

// The answer to one line, or its error.
nlohmann::ordered_json AnswerLine(const InputLine& line, const GenerateOptions& options,
                                  Session& session, Interrupts& interrupts) {
  gateway::v1::GenerateRequest request = options.run.request;
  const absl::Status parsed = MergeFromJson(line.text, request);
  if (!parsed.ok())
    return ErrorToJson(
        absl::InvalidArgumentError(absl::StrCat("line ", line.number, ": ", parsed.message())));
  Answer answer = Generate(session.client(), request, {.timeout = options.run.timeout}, interrupts,
                           [](const gateway::v1::GenerateResponse&) {});
  return answer.status.ok() ? ToJson(answer.response) : ErrorToJson(answer.status);
}

int AnswerLines(const GenerateOptions& options, Session& session, Terminal& terminal,
                Interrupts& interrupts) {
  LineSource lines(terminal.in, interrupts);
  ResultQueue results(options.concurrency);
  std::vector<std::thread> workers;
  for (int i = 0; i < options.concurrency; ++i) {
    workers.emplace_back([&] {
      while (const auto line = lines.Next())
        results.Put(line->first, AnswerLine(line->second, options, session, interrupts));
      results.WorkerEnds();
    });
  }
  int exit_code = kExitOk;
  while (const std::optional<nlohmann::ordered_json> result = results.Take()) {
    terminal.out << DumpJson(*result) << std::endl;
    if (result->contains("error")) exit_code = kExitError;
  }
  for (std::thread& worker : workers) worker.join();
  return interrupts.interrupted() ? kExitInterrupted : exit_code;
}

}  // namespace

int GenerateCommand(const GenerateOptions& options, Terminal& terminal, Interrupts& interrupts) {
  gateway::v1::GenerateRequest request;
  if (!options.json_lines && options.ids.empty()) {
    request = MakeRequest(options.run, ReadTextArgument(options.run.prompt, terminal));
  } else if (!options.json_lines) {
    request = options.run.request;
    request.mutable_token_ids()->mutable_ids()->Add(options.ids.begin(), options.ids.end());
  }
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.run.target, options.run.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  return options.json_lines
             ? AnswerLines(options, *session, terminal, interrupts)
             : AnswerOnce(*session, std::move(request), options.run, terminal, interrupts);
}

}  // namespace phyllo
