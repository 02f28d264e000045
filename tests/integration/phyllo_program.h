// Runs the `phyllo` program as a user would, for tests.
#ifndef PHYLLO_TESTS_INTEGRATION_PHYLLO_PROGRAM_H_
#define PHYLLO_TESTS_INTEGRATION_PHYLLO_PROGRAM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/launcher/child_process.h"
#include "clients/launcher/temporary_folder.h"

namespace phyllo {

// One run; its streams are files. Killed by the destructor. Thread-compatible.
class PhylloProgram {
 public:
  // Starts `phyllo` of the test's runfiles with `arguments` and `input` as standard input.
  static absl::StatusOr<std::unique_ptr<PhylloProgram>> Start(
      const std::vector<std::string>& arguments, const std::string& input = "");

  ChildProcess& process() { return *process_; }
  // What was written so far.
  std::string out() const;
  std::string err() const;
  // Waits until standard output holds a whole line; returns it, or "" if none came in time.
  std::string WaitForLine(absl::Duration timeout);
  // Waits for the end; "exit code N", or "" if it runs on.
  std::string WaitForEnd(absl::Duration timeout);

 private:
  PhylloProgram() = default;

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace phyllo

#endif  // PHYLLO_TESTS_INTEGRATION_PHYLLO_PROGRAM_H_
