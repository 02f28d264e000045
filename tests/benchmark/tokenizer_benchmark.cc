// Bytes per second on one core:
//   bazel run //tests/benchmark:tokenizer_benchmark
// over generated text: English-like words with the frequencies of natural language, Chinese
// characters with punctuation, and lines of code; and one word of a million equal characters, whose
// time per byte must not depend on its length.
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "model/tokenizer/chat_template.h"
#include "model/tokenizer/incremental_decoder.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/tokenizer.h"
#include "tests/golden/tokenizers/golden_tokenizer.h"

namespace phyllo {
namespace {

constexpr size_t kTextBytes = 1 << 20;

std::vector<std::string> MakeWords(int count, std::mt19937* random) {
  const char* const syllables[] = {"the", "re",   "an", "tion", "in", "er",  "con", "st",
                                   "ly",  "ment", "al", "pro",  "de", "ing", "o",   "sh"};
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) {
    std::string word;
    const int parts = 1 + static_cast<int>((*random)() % (i < 100 ? 1 : 4));
    for (int part = 0; part < parts; ++part) word += syllables[(*random)() % 16];
    words.push_back(std::move(word));
  }
  return words;
}

// A rank with Zipf's frequencies: 1 / rank.
size_t ZipfRank(size_t count, std::mt19937* random) {
  const double uniform = static_cast<double>((*random)()) / 4294967296.0;
  return static_cast<size_t>(std::exp(uniform * std::log(static_cast<double>(count)))) - 1;
}

std::string English() {
  std::mt19937 random(1);
  const std::vector<std::string> words = MakeWords(20000, &random);
  std::string text;
  while (text.size() < kTextBytes) {
    absl::StrAppend(&text, words[ZipfRank(words.size(), &random)]);
    const uint32_t kind = random() % 12;
    absl::StrAppend(&text, kind == 0 ? ". " : kind == 1 ? ", " : kind == 2 ? ".\n" : " ");
    if (random() % 40 == 0) absl::StrAppend(&text, random() % 3000, " ");
  }
  return text;
}

std::string Chinese() {
  std::mt19937 random(2);
  std::string text;
  while (text.size() < kTextBytes) {
    AppendUtf8(0x4E00 + static_cast<char32_t>(ZipfRank(5000, &random)), &text);
    if (random() % 10 == 0) absl::StrAppend(&text, random() % 2 == 0 ? "，" : "。\n");
  }
  return text;
}

std::string Code() {
  std::mt19937 random(3);
  const std::vector<std::string> words = MakeWords(2000, &random);
  const auto name = [&] { return words[ZipfRank(words.size(), &random)]; };
  std::string text;
  while (text.size() < kTextBytes) {
    const std::string indent(2 * (random() % 5), ' ');
    absl::StrAppend(&text, indent, "if (", name(), "_", name(), "[", random() % 100,
                    "] != nullptr) {\n");
    absl::StrAppend(&text, indent, "  return ", name(), "->", name(), "(", name(), ", \"", name(),
                    "\");  // ", name(), "\n", indent, "}\n");
  }
  return text;
}

std::string OneWord(size_t bytes) { return std::string(bytes, 'a'); }

const Tokenizer& GetTokenizer(const std::string& name) {
  static std::vector<std::pair<std::string, GoldenTokenizer>>* const loaded =
      new std::vector<std::pair<std::string, GoldenTokenizer>>();
  for (const auto& [known, golden] : *loaded) {
    if (known == name) return *golden.tokenizer;
  }
  auto golden = LoadGoldenTokenizer(name, name, {}, GoldenFormat::kTokenizerJson);
  loaded->emplace_back(name, std::move(golden).value());
  return *loaded->back().second.tokenizer;
}

void BM_Encode(benchmark::State& state, const std::string& name, const std::string& text) {
  const Tokenizer& tokenizer = GetTokenizer(name);
  int64_t tokens = 0;
  for (auto _ : state) {
    const auto encoding = tokenizer.Encode(text, {});
    tokens = static_cast<int64_t>(encoding->ids.size());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void BM_Stream(benchmark::State& state, const std::string& name) {
  const Tokenizer& tokenizer = GetTokenizer(name);
  const auto encoding = tokenizer.Encode(English(), {});
  for (auto _ : state) {
    IncrementalDecoder decoder(tokenizer, /*skip_special_tokens=*/true);
    for (const int32_t id : encoding->ids) benchmark::DoNotOptimize(decoder.Append({id}));
    benchmark::DoNotOptimize(decoder.Finish());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(encoding->ids.size()));
}

void BM_RenderChat(benchmark::State& state, const std::string& name, int turns) {
  const auto chat_template = ChatTemplate::Create(GetTokenizer(name));
  ChatRequest request;
  request.messages_json = "[";
  for (int i = 0; i < turns; ++i) {
    absl::StrAppend(&request.messages_json, i == 0 ? "" : ",", R"({"role":")",
                    i % 2 == 0 ? "user" : "assistant", R"(","content":"This is turn )", i,
                    R"( of a conversation about the weather."})");
  }
  request.messages_json += "]";
  for (auto _ : state) benchmark::DoNotOptimize((*chat_template)->Render(request).ok());
}

BENCHMARK_CAPTURE(BM_Encode, gpt2_english, "gpt2", English())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, gpt2_chinese, "gpt2", Chinese())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, gpt2_code, "gpt2", Code())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, qwen3_english, "qwen3", English())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, qwen3_chinese, "qwen3", Chinese())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, qwen3_code, "qwen3", Code())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, mistral_english, "mistral", English())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, gpt2_word_of_10k, "gpt2", OneWord(10000))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Encode, gpt2_word_of_1M, "gpt2", OneWord(1000000))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Stream, gpt2, "gpt2")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Stream, mistral, "mistral")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_RenderChat, qwen3_3_turns, "qwen3", 3)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_RenderChat, qwen3_51_turns, "qwen3", 51)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace phyllo

BENCHMARK_MAIN();
