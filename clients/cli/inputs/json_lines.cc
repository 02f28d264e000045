// Workers take the next line of input under a lock, and the main thread writes the results in the
// order of the lines.
#include "clients/cli/inputs/json_lines.h"

#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "clients/cli/terminal/exit_code.h"

namespace phyllo {
namespace {

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

}  // namespace

int AnswerJsonLines(int concurrency, Terminal& terminal, Interrupts& interrupts,
                    absl::FunctionRef<nlohmann::ordered_json(const InputLine& line)> answer) {
  LineSource lines(terminal.in, interrupts);
  ResultQueue results(concurrency);
  std::vector<std::thread> workers;
  for (int i = 0; i < concurrency; ++i) {
    workers.emplace_back([&] {
      while (const auto line = lines.Next()) results.Put(line->first, answer(line->second));
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

}  // namespace phyllo
