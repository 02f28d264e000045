#include "services/transformer/news_dispatcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace phyllo {
namespace {

// CPU time of a message on its way to the client, through all processes.
constexpr absl::Duration kMessageCost = absl::Microseconds(150);
// Of the CPUs' time, what messages may take.
constexpr double kMessageShare = 1.0 / 8;

}  // namespace

absl::Duration NewsPause(absl::Duration interval, int64_t reader_count, double cpu_count) {
  if (interval <= absl::ZeroDuration()) return absl::ZeroDuration();
  return std::max(interval, reader_count * kMessageCost / (kMessageShare * cpu_count));
}

NewsDispatcher::NewsDispatcher(absl::Duration interval, double cpu_count)
    : interval_(interval), cpu_count_(cpu_count), thread_([this] { Run(); }) {}

NewsDispatcher::~NewsDispatcher() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

void NewsDispatcher::Post(std::weak_ptr<NewsReader> reader, NewsUrgency urgency) {
  absl::MutexLock lock(&mutex_);
  (urgency == NewsUrgency::kNow ? now_ : waiting_).push_back(std::move(reader));
}

void NewsDispatcher::Run() {
  for (Readers readers = WaitForReaders(); !readers.empty(); readers = WaitForReaders()) {
    for (const std::weak_ptr<NewsReader>& posted : readers) {
      if (const std::shared_ptr<NewsReader> reader = posted.lock()) reader->OnNews();
    }
  }
}

NewsDispatcher::Readers NewsDispatcher::WaitForReaders() {
  absl::MutexLock lock(&mutex_);
  Readers readers;
  while (readers.empty()) {
    mutex_.Await(absl::Condition(this, &NewsDispatcher::HasWork));
    const absl::Duration wait =
        since_called_ ? pause_ - since_called_->Elapsed() : absl::ZeroDuration();
    const bool interrupted =
        wait > absl::ZeroDuration() &&
        mutex_.AwaitWithTimeout(absl::Condition(this, &NewsDispatcher::HasUrgentWork), wait);
    std::swap(readers, now_);
    if (interrupted && !stop_) continue;
    if (stop_ && waiting_.empty()) break;
    if (waiting_.empty()) continue;
    pause_ = NewsPause(interval_, static_cast<int64_t>(waiting_.size()), cpu_count_);
    readers.insert(readers.end(), std::make_move_iterator(waiting_.begin()),
                   std::make_move_iterator(waiting_.end()));
    waiting_.clear();
    since_called_.emplace();
  }
  return readers;
}

}  // namespace phyllo
