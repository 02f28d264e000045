#include "clients/bench/model/model_bench.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "clients/bench/model/model_steps.h"
#include "model/base/status_macros.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/transformer/instruction_set.h"

namespace phyllo {
namespace {

// Seconds of the steps that count, and of their matrix products.
struct Elapsed {
  double step = 0;
  double bound = 0;
};

int64_t Largest(const std::vector<int64_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

// Of one model. Thread-compatible.
class ModelBench {
 public:
  ModelBench(const ModelBenchOptions& options, const ModelBenchRun& run, ModelSteps& steps)
      : options_(options), run_(run), steps_(steps) {}

  // Repeats the test, with one short run before. Not finished if interrupted.
  absl::Status Run(ModelBenchTest& test) {
    ModelBenchTest warm_up = test;
    if (!test.is_prefill) warm_up.tokens = std::min<int64_t>(test.tokens, 2);
    PHYLLO_RETURN_IF_ERROR(RunOnce(warm_up).status());
    for (int i = 0; i < options_.repetitions && !IsInterrupted(); ++i) {
      PHYLLO_ASSIGN_OR_RETURN(const Elapsed elapsed, RunOnce(test));
      const double tokens = static_cast<double>(test.tokens * test.batch);
      test.tokens_per_second.push_back(tokens / elapsed.step);
      if (options_.bound) test.bound_tokens_per_second.push_back(tokens / elapsed.bound);
    }
    return absl::OkStatus();
  }

  bool IsInterrupted() const { return run_.interrupted != nullptr && *run_.interrupted; }

 private:
  absl::StatusOr<Elapsed> RunOnce(const ModelBenchTest& test) {
    if (test.is_prefill) {
      SequencePages sequence = steps_.NewSequence();
      return Prefill(sequence, test.tokens);
    }
    std::vector<SequencePages> sequences;
    for (int64_t i = 0; i < test.batch; ++i) {
      sequences.push_back(steps_.NewSequence());
      if (options_.depth > 0)
        PHYLLO_RETURN_IF_ERROR(Prefill(sequences.back(), options_.depth).status());
    }
    Elapsed elapsed;
    for (int64_t i = 0; i < test.tokens && !IsInterrupted(); ++i) {
      PHYLLO_RETURN_IF_ERROR(Step(absl::MakeSpan(sequences), 1, options_.depth + i, elapsed));
    }
    return elapsed;
  }

  absl::StatusOr<Elapsed> Prefill(SequencePages& sequence, int64_t tokens) {
    Elapsed elapsed;
    for (int64_t done = 0; done < tokens && !IsInterrupted(); done += options_.chunk) {
      const int64_t rows = std::min(options_.chunk, tokens - done);
      PHYLLO_RETURN_IF_ERROR(Step(absl::MakeSpan(&sequence, 1), rows, done, elapsed));
    }
    return elapsed;
  }

  // A step and its bound take turns, so that the machine's drift meets both.
  absl::Status Step(absl::Span<SequencePages> sequences, int64_t rows, int64_t first_position,
                    Elapsed& elapsed) {
    PHYLLO_ASSIGN_OR_RETURN(const double seconds, steps_.TimeStep(sequences, rows, first_position));
    elapsed.step += seconds;
    const int64_t batch = static_cast<int64_t>(sequences.size());
    if (options_.bound) elapsed.bound += steps_.TimeBound(rows * batch, batch);
    return absl::OkStatus();
  }

  const ModelBenchOptions& options_;
  const ModelBenchRun& run_;
  ModelSteps& steps_;
};

std::vector<ModelBenchTest> PlanTests(const ModelBenchOptions& options) {
  std::vector<ModelBenchTest> tests;
  for (const int64_t tokens : options.prompt_tokens) {
    if (tokens > 0) tests.push_back({.is_prefill = true, .tokens = tokens});
  }
  for (const int64_t batch : options.batches) {
    for (const int64_t tokens : options.new_tokens) {
      if (tokens > 0) tests.push_back({.is_prefill = false, .tokens = tokens, .batch = batch});
    }
  }
  return tests;
}

ModelStepsOptions StepsOptions(const ModelBenchOptions& options) {
  const int64_t prompt = Largest(options.prompt_tokens);
  const int64_t sequence = options.depth + Largest(options.new_tokens);
  const int64_t batch = Largest(options.batches);
  return {.model = options.model,
          .precision = options.precision,
          .threads = options.threads,
          .max_rows = std::max(std::min(options.chunk, std::max(prompt, options.depth)), batch),
          .max_batch = batch,
          .max_positions = std::max(prompt, sequence),
          .max_tokens = std::max(prompt, batch * sequence),
          .bound = options.bound};
}

}  // namespace

absl::StatusOr<ModelBenchResult> RunModelBench(const ModelBenchOptions& options,
                                               const ModelBenchRun& run) {
  const auto tell = [&run](const std::string& text) {
    if (run.observer) run.observer(text);
  };
  PHYLLO_RETURN_IF_ERROR(CheckModelBenchOptions(options));
  tell("loading the model");
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSteps> steps,
                          ModelSteps::Load(StepsOptions(options)));
  ModelBenchResult result = {.precision = steps->precision(),
                             .instruction_set = InstructionSetName(),
                             .threads = steps->threads(),
                             .load_seconds = steps->load_seconds(),
                             .weight_bytes = steps->weight_bytes(),
                             .tests = {}};
  ModelBench bench(options, run, *steps);
  for (ModelBenchTest& test : PlanTests(options)) {
    tell(absl::StrCat(test.is_prefill ? "prefill " : "decode ", test.tokens,
                      test.is_prefill ? "" : absl::StrCat(" in a batch of ", test.batch)));
    PHYLLO_RETURN_IF_ERROR(bench.Run(test));
    if (bench.IsInterrupted()) break;
    result.tests.push_back(std::move(test));
  }
  return result;
}

}  // namespace phyllo
