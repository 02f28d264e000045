// Lines of standard input that an interrupt can cut short.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_LINE_READER_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_LINE_READER_H_

#include <string>

namespace phyllo {

// Borrows both descriptors. Thread-compatible.
class LineReader {
 public:
  enum class Result { kLine, kEnd, kInterrupted };

  // Reads from `fd`; ReadLine returns early when `interrupt_fd` becomes readable.
  LineReader(int fd, int interrupt_fd) : fd_(fd), interrupt_fd_(interrupt_fd) {}

  // kLine: `line` holds the next line without its newline (the last one may lack it). kEnd: there
  // is none; an error of reading counts as the end. kInterrupted: `line` is empty, and what was
  // typed of it is dropped.
  Result ReadLine(std::string& line);

 private:
  const int fd_;
  const int interrupt_fd_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_LINE_READER_H_
