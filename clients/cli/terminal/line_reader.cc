#include "clients/cli/terminal/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace phyllo {

LineReader::Result LineReader::ReadLine(std::string& line) {
  line.clear();
  while (true) {
    const size_t newline = buffer_.find('\n');
    if (newline != std::string::npos) {
      line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      return Result::kLine;
    }
    if (ended_) {
      line = std::exchange(buffer_, "");
      return line.empty() ? Result::kEnd : Result::kLine;
    }
    pollfd waits[2] = {{fd_, POLLIN, 0}, {interrupt_fd_, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) {
      ended_ = errno != EINTR;
      continue;
    }
    if (waits[1].revents != 0) {
      buffer_.clear();
      return Result::kInterrupted;
    }
    char chunk[4096];
    const ssize_t count = read(fd_, chunk, sizeof(chunk));
    if (count > 0) {
      buffer_.append(chunk, count);
    } else if (count == 0 || errno != EINTR) {
      ended_ = true;
    }
  }
}

}  // namespace phyllo
