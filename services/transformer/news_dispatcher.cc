#include "services/transformer/news_dispatcher.h"

#include <utility>

namespace phyllo {

NewsDispatcher::NewsDispatcher() : thread_([this] { Run(); }) {}

NewsDispatcher::~NewsDispatcher() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

void NewsDispatcher::Post(std::weak_ptr<NewsReader> reader) {
  absl::MutexLock lock(&mutex_);
  posted_.push_back(std::move(reader));
}

void NewsDispatcher::Run() {
  std::vector<std::weak_ptr<NewsReader>> readers;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &NewsDispatcher::HasWork));
      if (posted_.empty()) return;  // stopped
      std::swap(readers, posted_);
    }
    for (const std::weak_ptr<NewsReader>& posted : readers) {
      if (const std::shared_ptr<NewsReader> reader = posted.lock()) reader->OnNews();
    }
    readers.clear();
  }
}

}  // namespace phyllo
