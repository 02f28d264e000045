// One line on the terminal that changes in place.
#ifndef PHYLLO_CLIENTS_CLI_TERMINAL_PROGRESS_LINE_H_
#define PHYLLO_CLIENTS_CLI_TERMINAL_PROGRESS_LINE_H_

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal/terminal.h"
#include "clients/launcher/local_services.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Writes to the terminal's `err` if that is a terminal, else nothing at all. Clears its line when
// it ends. Thread-compatible.
class ProgressLine {
 public:
  explicit ProgressLine(const Terminal& terminal)
      : stream_(terminal.err_is_terminal ? &terminal.err : nullptr) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Replaces the line.
  void Show(absl::string_view text);
  // Leaves an empty line with the cursor at its beginning. Cheap if there is none.
  void Clear();

 private:
  std::ostream* const stream_;
  bool shown_ = false;
};

// "starting demo: tokenizer ready, embedding ready, transformer packing 43 % of 2.3 GiB, gateway
// waits (3.1 s)"; a service that does not say what it does is shown with its memory.
std::string DescribeLaunch(absl::string_view model, const LaunchProgress& progress);

// "reading the prompt: 512 of 2048 tokens (25 %)".
std::string DescribePrefill(const gateway::v1::PrefillProgress& progress);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_TERMINAL_PROGRESS_LINE_H_
