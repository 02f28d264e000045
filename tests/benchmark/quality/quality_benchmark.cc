// Measures what a precision costs in quality: perplexity of a text, and how far the logits are from
// those of f32. Writes a table in Markdown.
//   bazel run //tests/benchmark/quality:quality_benchmark -- --model=/models/m
//   --precision=bf16 --precision=int8,kv_cache=int8

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/kv_cache/sequence_pages.h"
#include "model/tensor/linear_input.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/testing/model_runner.h"
#include "tests/benchmark/quality/logits_comparison.h"

namespace phyllo {
namespace {

constexpr int64_t kChunk = 64;  // positions whose logits are held at once

struct Flags {
  std::string model = "model/demo";
  std::string text = "tests/benchmark/quality/stories.txt";
  std::vector<std::string> precisions = {"f32", "bf16", "int8", "int8,kv_cache=int8", "int4"};
  int threads = 2;
  int64_t context = 512;
  int64_t random_tokens = 0;
};

using Windows = std::vector<std::vector<int32_t>>;

// The paragraphs of the text, each tokenized on its own and cut into windows of `context` tokens.
absl::StatusOr<Windows> ReadText(const Flags& flags) {
  std::ifstream file(flags.text);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read --text=", flags.text));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Load(flags.model));
  Windows windows;
  for (const absl::string_view paragraph : absl::StrSplit(text, "\n\n", absl::SkipWhitespace())) {
    PHYLLO_ASSIGN_OR_RETURN(const Encoding encoding, tokenizer->Encode(paragraph, {}));
    for (size_t begin = 0; begin < encoding.ids.size(); begin += flags.context) {
      const size_t end = std::min(encoding.ids.size(), begin + flags.context);
      windows.emplace_back(encoding.ids.begin() + begin, encoding.ids.begin() + end);
    }
  }
  if (windows.empty()) return absl::InvalidArgumentError(absl::StrCat(flags.text, " is empty"));
  return windows;
}

Windows RandomWindows(const Flags& flags, int64_t vocab_size) {
  std::mt19937 random(1);
  Windows windows;
  for (int64_t begin = 0; begin < flags.random_tokens; begin += flags.context) {
    std::vector<int32_t>& window = windows.emplace_back();
    while (static_cast<int64_t>(window.size()) < flags.context &&
           begin + static_cast<int64_t>(window.size()) < flags.random_tokens)
      window.push_back(static_cast<int32_t>(random() % vocab_size));
  }
  return windows;
}

absl::StatusOr<std::unique_ptr<ModelRunner>> LoadModel(const Flags& flags,
                                                       const ModelPrecision& precision) {
  return ModelRunner::Load(flags.model, {.precision = precision,
                                         .num_threads = flags.threads,
                                         .max_rows = kChunk,
                                         .kv_page_count = flags.context / 64 + 2});
}

// Runs both models over the windows, side by side.
absl::StatusOr<LogitsComparison> Compare(const Flags& flags, const Windows& windows,
                                         ModelRunner& reference, ModelRunner& other) {
  LogitsComparison comparison;
  const int64_t v = reference.vocab_size();
  for (const std::vector<int32_t>& window : windows) {
    SequencePages reference_pages = reference.NewSequence();
    SequencePages other_pages = other.NewSequence();
    for (size_t begin = 0; begin < window.size(); begin += kChunk) {
      SequenceChunk chunk = {.first_position = static_cast<int64_t>(begin),
                             .prompt_length = static_cast<int64_t>(window.size()),
                             .token_ids = absl::MakeConstSpan(window).subspan(begin, kChunk)};
      chunk.pages = &reference_pages;
      PHYLLO_ASSIGN_OR_RETURN(const std::vector<float> want, reference.Step({chunk}));
      chunk.pages = &other_pages;
      PHYLLO_ASSIGN_OR_RETURN(const std::vector<float> got, other.Step({chunk}));
      for (size_t i = 0; i < chunk.token_ids.size(); ++i) {
        const size_t next = begin + i + 1;
        const bool predicts = flags.random_tokens == 0 && next < window.size();
        comparison.Add(absl::MakeConstSpan(want).subspan(i * v, v),
                       absl::MakeConstSpan(got).subspan(i * v, v),
                       predicts ? std::optional(window[next]) : std::nullopt);
      }
    }
  }
  return comparison;
}

absl::Status Run(const Flags& flags) {
  std::vector<ModelPrecision> precisions;
  for (const std::string& text : flags.precisions) {
    PHYLLO_ASSIGN_OR_RETURN(const PrecisionChoice choice, ParsePrecisionChoice(text));
    precisions.push_back(choice.Resolve(Precision::kF32));
  }
  PHYLLO_ASSIGN_OR_RETURN(const auto reference,
                          LoadModel(flags, ModelPrecision::Of(Precision::kF32)));
  Windows windows;
  if (flags.random_tokens > 0) {
    windows = RandomWindows(flags, reference->vocab_size());
  } else {
    PHYLLO_ASSIGN_OR_RETURN(windows, ReadText(flags));
  }
  std::printf(
      "| precision | MB of weights | KV bytes a token | perplexity | top-1 as f32 | KL mean | KL "
      "largest |\n| --- | --- | --- | --- | --- | --- | --- |\n");
  int64_t position_count = 0;
  for (const ModelPrecision& precision : precisions) {
    PHYLLO_ASSIGN_OR_RETURN(const auto other, LoadModel(flags, precision));
    PHYLLO_ASSIGN_OR_RETURN(const LogitsComparison comparison,
                            Compare(flags, windows, *reference, *other));
    const std::optional<double> perplexity = comparison.perplexity();
    std::printf("| `%s` | %.1f | %d | %s | %.2f %% | %.2g | %.2g |\n", precision.ToString().c_str(),
                other->transformer().weight_bytes() / 1e6,
                static_cast<int>(other->transformer().kv_cache().bytes_per_token()),
                perplexity ? absl::StrFormat("%.4f", *perplexity).c_str() : "–",
                100 * comparison.top1_agreement(), comparison.mean_kl(), comparison.max_kl());
    std::fflush(stdout);
    position_count = comparison.position_count();
  }
  std::printf("\n%d positions in %d windows\n", static_cast<int>(position_count),
              static_cast<int>(windows.size()));
  return absl::OkStatus();
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) {
  phyllo::Flags flags;
  CLI::App app("Perplexity and distance from f32 of a model in several precisions.");
  app.add_option("--model", flags.model, "model folder or GGUF file")->capture_default_str();
  app.add_option("--text", flags.text, "text whose paragraphs are read one by one")
      ->capture_default_str();
  app.add_option("--precision", flags.precisions, "as the transformer's; may be given repeatedly")
      ->capture_default_str();
  app.add_option("--random_tokens", flags.random_tokens,
                 "instead of a text so many random tokens, for a model without tokenizer")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_option("--context", flags.context, "tokens of a window")
      ->check(CLI::Range(2, 1 << 16))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "compute threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = phyllo::Run(flags);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
