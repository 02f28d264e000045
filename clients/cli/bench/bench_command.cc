#include "clients/cli/bench/bench_command.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "clients/bench/load_report.h"
#include "clients/bench/load_runner.h"
#include "clients/bench/model/model_bench.h"
#include "clients/bench/model/model_bench_report.h"
#include "clients/bench/workload.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/cli/terminal/progress_line.h"
#include "clients/launcher/service_binaries.h"
#include "model/base/status_macros.h"

namespace phyllo {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr size_t kMaxPromptFileBytes = 1 << 20;

// The token ids of the file; none without one.
absl::StatusOr<std::vector<int32_t>> TokenizeFile(const std::string& path, Client& client) {
  if (path.empty()) return std::vector<int32_t>();
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("--prompt-file: cannot read ", path));
  gateway::v1::TokenizeRequest request;
  request.set_text(std::string(std::istreambuf_iterator<char>(stream), {}));
  request.set_add_special_tokens(false);
  if (request.text().size() > kMaxPromptFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--prompt-file: ", path, " has ", request.text().size(),
                     " bytes, must have at most ", kMaxPromptFileBytes));
  }
  PHYLLO_ASSIGN_OR_RETURN(const gateway::v1::TokenizeResponse response,
                          client.Tokenize(request, {.timeout = kCallTimeout}));
  if (response.token_ids().empty())
    return absl::InvalidArgumentError(absl::StrCat("--prompt-file: ", path, " has no token"));
  return std::vector<int32_t>(response.token_ids().begin(), response.token_ids().end());
}

absl::StatusOr<Workload> MakeWorkload(const LoadOptions& options,
                                      const gateway::v1::GetModelResponse& model, Client& client) {
  PHYLLO_ASSIGN_OR_RETURN(std::vector<int32_t> text_ids, TokenizeFile(options.prompt_file, client));
  return Workload::Create(options, model.shape().vocab_size(), model.max_sequence_length(),
                          std::move(text_ids));
}

std::string DescribeProgress(const LoadRunProgress& progress) {
  return absl::StrFormat("%d ended, %d failed, %d running, %.1f new tokens a second (%.1f s)",
                         progress.ended_count, progress.failed_count, progress.running_count,
                         progress.seconds > 0 ? progress.output_token_count / progress.seconds : 0,
                         progress.seconds);
}

int ExitCodeOfLoad(const LoadResult& result, const Interrupts& interrupts) {
  if (interrupts.interrupted()) return kExitInterrupted;
  if (result.completed_count > 0 || result.errors.empty()) return kExitOk;
  return ExitCodeOf(absl::Status(result.errors.begin()->first, ""));
}

// Loads the server.
int BenchServer(const BenchOptions& options, Terminal& terminal, Interrupts& interrupts) {
  int exit_code = kExitOk;
  const std::unique_ptr<Session> session =
      Session::Open(options.target, options.json, terminal, interrupts, exit_code);
  if (session == nullptr) return exit_code;
  const auto fail = [&](const absl::Status& status) {
    return Fail(status, ExitCodeOf(status), options.json, terminal);
  };
  const absl::StatusOr<gateway::v1::GetModelResponse> model =
      session->client().GetModel({}, {.timeout = kCallTimeout});
  if (!model.ok()) return fail(session->Explain(model.status()));
  absl::StatusOr<Workload> workload = MakeWorkload(options.load, *model, session->client());
  if (!workload.ok()) return fail(session->Explain(workload.status()));

  LoadResult result;
  {
    ProgressLine line(terminal);
    LoadRun run = {.address = session->address(),
                   .interrupted = interrupts.interrupted_flag(),
                   .observer = [&line](const LoadRunProgress& progress) {
                     line.Show(DescribeProgress(progress));
                   }};
    result = RunLoad(options.load, *workload, run);
  }
  terminal.out << (options.json ? DumpJson(LoadReportToJson(options.load, *model, result)) + "\n"
                                : FormatLoadReport(options.load, *model, result))
               << std::flush;
  const absl::Status running = session->CheckServices();
  if (!running.ok()) return fail(running);
  return ExitCodeOfLoad(result, interrupts);
}

// Runs the model in this process.
int BenchModel(const BenchOptions& options, Terminal& terminal, Interrupts& interrupts) {
  ModelBenchOptions bench = options.model_bench;
  if (bench.model.empty()) {
    const absl::StatusOr<std::string> demo = FindDemoModel();
    if (!demo.ok()) return Fail(demo.status(), kExitModel, options.json, terminal);
    bench.model = *demo;
  }
  absl::StatusOr<ModelBenchResult> result;
  {
    ProgressLine line(terminal);
    result =
        RunModelBench(bench, {.interrupted = interrupts.interrupted_flag(),
                              .observer = [&line](const std::string& what) { line.Show(what); }});
  }
  if (!result.ok()) {
    const bool is_usage = absl::IsInvalidArgument(result.status());
    return Fail(result.status(), is_usage ? kExitUsage : kExitModel, options.json, terminal);
  }
  terminal.out << (options.json ? DumpJson(ModelBenchToJson(bench, *result)) + "\n"
                                : FormatModelBench(bench, *result))
               << std::flush;
  return interrupts.interrupted() ? kExitInterrupted : kExitOk;
}

}  // namespace

int BenchCommand(const BenchOptions& options, Terminal& terminal, Interrupts& interrupts) {
  return options.serving ? BenchServer(options, terminal, interrupts)
                         : BenchModel(options, terminal, interrupts);
}

}  // namespace phyllo
