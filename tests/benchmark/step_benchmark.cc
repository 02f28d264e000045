// Measures the model library alone, without services: prefill of a prompt and decode of a batch,
// and beside them the same steps reduced to their matrix products, which no engine with these
// kernels can beat.
//   bazel run -c opt //tests/benchmark:step_benchmark -- --model=/models/m --precision=bf16
//   --threads=2

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/model_config.h"
#include "model/embedding/embedding_table.h"
#include "model/gguf/model_files.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/parallel/thread_pool.h"
#include "model/tensor/matrix_view.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/matmul_bound.h"
#include "model/transformer/transformer.h"

namespace phyllo {
namespace {

struct Flags {
  std::string model;
  std::string precision = "auto";
  int threads = 2;
  int64_t prefill = 512;  // tokens of a prompt
  int64_t decode = 128;   // steps
  std::vector<int64_t> batches = {1, 8};
  int rounds = 3;
};

struct Model {
  ModelPrecision precision;
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Transformer> transformer;
  std::unique_ptr<EmbeddingTable> embedding_table;
  std::unique_ptr<MatmulBound> bound;
};

double Seconds(absl::Time begin) { return absl::ToDoubleSeconds(absl::Now() - begin); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::StatusOr<Model> LoadModel(const Flags& flags) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(flags.model, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
  Model model;
  PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice choice, ParsePrecisionChoice(flags.precision));
  PHYLLO_ASSIGN_OR_RETURN(model.checkpoint, Checkpoint::Open(flags.model));
  model.precision = choice.Resolve(AutomaticPrecision(*model.checkpoint));
  PHYLLO_ASSIGN_OR_RETURN(model.pool,
                          ThreadPool::Create({.num_threads = flags.threads, .pin = true}));
  const int64_t largest_batch = *std::max_element(flags.batches.begin(), flags.batches.end());
  const TransformerOptions options = {
      .precision = model.precision,
      .max_rows = std::max(flags.prefill, largest_batch),
      .max_logits_rows = largest_batch,
      .kv_page_count = largest_batch * ((flags.prefill + flags.decode) / 64 + 1),
      .progress = nullptr};
  const absl::Time begin = absl::Now();
  PHYLLO_ASSIGN_OR_RETURN(model.transformer,
                          Transformer::Load(config, *model.checkpoint, *model.pool, options));
  std::printf("loaded in %.2f s, %.0f MB of packed weights\n", Seconds(begin),
              model.transformer->weight_bytes() / 1e6);
  PHYLLO_ASSIGN_OR_RETURN(
      EmbeddingTable table,
      EmbeddingTable::Create(model.transformer->description(), *model.checkpoint));
  model.embedding_table = std::make_unique<EmbeddingTable>(std::move(table));
  PHYLLO_ASSIGN_OR_RETURN(model.bound,
                          MatmulBound::Create(model.transformer->description(), *model.checkpoint,
                                              *model.pool, model.precision, options.max_rows));
  return model;
}

// One step over slices that each have `rows` rows, with random tokens; logits of the last row of
// each. Returns its seconds, embedding included.
absl::StatusOr<double> TimeStep(Model& model, absl::Span<SequencePages> sequences, int64_t rows,
                                int64_t first_position, int64_t prompt_length,
                                std::vector<float>& buffer) {
  const int64_t d = model.transformer->description().hidden_size;
  const int64_t v = model.transformer->description().vocab_size;
  const int64_t batch = static_cast<int64_t>(sequences.size());
  std::mt19937 random(first_position);
  std::vector<int32_t> ids(rows);
  std::vector<StepSlice> slices;
  std::vector<int64_t> logits_rows;
  buffer.resize(batch * rows * d + batch * v);
  const absl::Span<float> hidden = absl::MakeSpan(buffer).first(batch * rows * d);
  const absl::Time begin = absl::Now();
  for (int64_t i = 0; i < batch; ++i) {
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % v);
    PHYLLO_RETURN_IF_ERROR(sequences[i].Resize(first_position + rows));
    PHYLLO_RETURN_IF_ERROR(
        model.embedding_table->Embed(ids, first_position, hidden.subspan(i * rows * d, rows * d)));
    slices.push_back({.row_begin = i * rows,
                      .row_count = rows,
                      .first_position = first_position,
                      .prompt_length = prompt_length,
                      .pages = &sequences[i]});
    logits_rows.push_back((i + 1) * rows - 1);
  }
  const MatrixView<float> hidden_states = {
      .data = hidden.data(), .rows = batch * rows, .cols = d, .stride = d};
  const MatrixView<float> logits = {
      .data = buffer.data() + batch * rows * d, .rows = batch, .cols = v, .stride = v};
  PHYLLO_RETURN_IF_ERROR(model.transformer->Forward(slices, hidden_states));
  PHYLLO_RETURN_IF_ERROR(model.transformer->ComputeLogits(logits_rows, hidden_states, logits));
  return Seconds(begin);
}

struct Round {
  double prefill = 0;        // seconds
  double prefill_bound = 0;  // seconds of its matrix products alone
  double decode = 0;
  double decode_bound = 0;
};

// Prefills `batch` prompts one after the other, then decodes them together. Steps and their bounds
// alternate, so that the machine's drift meets both.
absl::StatusOr<Round> RunRound(Model& model, const Flags& flags, int64_t batch) {
  Round round;
  std::vector<SequencePages> sequences;
  std::vector<float> buffer;
  for (int64_t i = 0; i < batch; ++i) {
    sequences.emplace_back(model.transformer->kv_cache().page_groups(), 64);
    PHYLLO_ASSIGN_OR_RETURN(const double seconds,
                            TimeStep(model, absl::MakeSpan(&sequences.back(), 1), flags.prefill, 0,
                                     flags.prefill, buffer));
    round.prefill += seconds;
    round.prefill_bound += model.bound->TimeStep(flags.prefill, 1);
  }
  for (int64_t step = 0; step < flags.decode; ++step) {
    PHYLLO_ASSIGN_OR_RETURN(
        const double seconds,
        TimeStep(model, absl::MakeSpan(sequences), 1, flags.prefill + step, flags.prefill, buffer));
    round.decode += seconds;
    round.decode_bound += model.bound->TimeStep(batch, batch);
  }
  return round;
}

absl::Status Run(const Flags& flags) {
  PHYLLO_ASSIGN_OR_RETURN(Model model, LoadModel(flags));
  for (const int64_t batch : flags.batches) {
    std::vector<double> prefill, prefill_share, decode, decode_share;
    // The first round is not counted: memory is committed at first touch.
    Flags warm_up = flags;
    warm_up.decode = 2;
    PHYLLO_RETURN_IF_ERROR(RunRound(model, warm_up, batch).status());
    for (int i = 0; i < flags.rounds; ++i) {
      PHYLLO_ASSIGN_OR_RETURN(const Round round, RunRound(model, flags, batch));
      prefill.push_back(batch * flags.prefill / round.prefill);
      prefill_share.push_back(100 * round.prefill_bound / round.prefill);
      decode.push_back(batch * flags.decode / round.decode);
      decode_share.push_back(100 * round.decode_bound / round.decode);
    }
    std::printf(
        "%s, %d threads, batch %d: prefill %d: %.0f tok/s (%.0f %% of the matmul bound); decode "
        "%d: %.1f tok/s (%.0f %%)\n",
        model.precision.ToString().c_str(), flags.threads, static_cast<int>(batch),
        static_cast<int>(flags.prefill), Median(prefill), Median(prefill_share),
        static_cast<int>(flags.decode), Median(decode), Median(decode_share));
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  phyllo::Flags flags;
  CLI::App app("Tokens per second of the model library alone.");
  app.add_option("--model", flags.model, "model folder")->required();
  app.add_option("--precision", flags.precision, "as the transformer's --precision")
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "compute threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--prefill", flags.prefill, "tokens of a prompt")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--decode", flags.decode, "decode steps")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--batch", flags.batches, "sequences decoded together")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds, "rounds; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = phyllo::Run(flags);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
