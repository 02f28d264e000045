#include "tests/integration/phyllo_program.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(10);

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

absl::StatusOr<std::unique_ptr<PhylloProgram>> PhylloProgram::Start(
    const std::vector<std::string>& arguments, const std::string& input) {
  std::unique_ptr<PhylloProgram> program(new PhylloProgram());
  PHYLLO_ASSIGN_OR_RETURN(program->folder_, TemporaryFolder::Create());
  const std::string& folder = program->folder_->path();
  std::ofstream(folder + "/in", std::ios::binary) << input;
  const char* const runfiles = getenv("TEST_SRCDIR");
  std::vector<std::string> command = {
      "/bin/sh",
      "-c",
      "folder=$1; shift; exec \"$@\" <\"$folder/in\" >\"$folder/out\" 2>\"$folder/err\"",
      "sh",
      folder,
      absl::StrCat(runfiles == nullptr ? "" : runfiles, "/phyllo/clients/cli/phyllo")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  PHYLLO_ASSIGN_OR_RETURN(program->process_, ChildProcess::Spawn(command, folder + "/log"));
  return program;
}

std::string PhylloProgram::out() const { return ReadFile(folder_->path() + "/out"); }

std::string PhylloProgram::err() const { return ReadFile(folder_->path() + "/err"); }

std::string PhylloProgram::WaitForLine(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (absl::Now() < deadline) {
    const std::string text = out();
    const size_t end = text.find('\n');
    if (end != std::string::npos) return text.substr(0, end);
    if (process_->WaitForEnd(kTick)) break;
  }
  return "";
}

std::string PhylloProgram::WaitForEnd(absl::Duration timeout) {
  return process_->WaitForEnd(timeout) ? process_->HowItEnded().value_or("") : "";
}

}  // namespace phyllo
