// What the sampler may draw, and how likely, against what transformers' own logits processors leave
// of the same logits: see data/sampling/README.md.
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "model/sampling/sampler.h"
#include "nlohmann/json.hpp"
#include "tests/golden/golden_model.h"

namespace phyllo {
namespace {

using nlohmann::json;

constexpr char kData[] = "tests/golden/data/";

// The setting by the names of transformers' GenerationConfig; a name that is not known fails the
// test.
SamplingParameters ToParameters(const json& setting) {
  SamplingParameters parameters;
  for (const auto& [name, value] : setting.items()) {
    if (name == "temperature") {
      parameters.temperature = value;
    } else if (name == "top_k") {
      parameters.top_k = value;
    } else if (name == "top_p") {
      parameters.top_p = value;
    } else if (name == "min_p") {
      parameters.min_p = value;
    } else if (name == "typical_p") {
      parameters.typical_p = value;
    } else if (name == "repetition_penalty") {
      parameters.repetition_penalty = value;
    } else if (name == "no_repeat_ngram_size") {
      parameters.no_repeat_ngram_size = value;
    } else if (name == "bad_words_ids") {
      parameters.banned_sequences = value.get<std::vector<std::vector<int32_t>>>();
    } else if (name == "sequence_bias") {
      for (const json& entry : value) parameters.logit_bias.push_back({entry[0][0], entry[1]});
    } else if (name == "min_new_tokens") {
      parameters.min_tokens = value;
    } else if (name == "eos_token_id") {
      parameters.stop_token_ids = value.get<std::vector<int32_t>>();
    } else {
      ADD_FAILURE() << name;
    }
  }
  return parameters;
}

TEST(ProcessedLogitsTest, AreThoseOfTransformers) {
  std::ifstream file(std::string(kData) + "sampling/processed.json");
  const json cases = json::parse(file);
  ASSERT_EQ(cases.size(), 63);
  std::map<std::string, std::unique_ptr<GoldenModel>> models;
  for (const json& entry : cases) {
    SCOPED_TRACE(entry["model"].get<std::string>() + " " + entry["setting"].dump() + " at " +
                 entry["position"].dump());
    const std::string name = entry["model"];
    if (models[name] == nullptr) {
      PHYLLO_ASSERT_OK_AND_ASSIGN(models[name],
                                  GoldenModel::Open(std::string(kData) + "models/" + name));
    }
    const std::string prompt = entry["prompt"];
    const std::vector<int32_t> ids = models[name]->Ids(prompt + ".input_ids");
    const std::vector<float> logits = models[name]->Floats(prompt + ".logits");
    const int64_t vocab_size = static_cast<int64_t>(logits.size() / ids.size());
    const int64_t position = entry["position"];
    const int64_t prompt_count = entry["prompt_count"];

    const SamplingParameters parameters = ToParameters(entry["setting"]);
    PHYLLO_ASSERT_OK(ValidateSamplingParameters(parameters, vocab_size));
    TokenHistory history;
    history.AddPrompt(absl::MakeConstSpan(ids).subspan(0, prompt_count));
    for (int64_t i = prompt_count; i <= position; ++i) history.AddGenerated(ids[i]);
    Sampler sampler(vocab_size);
    PHYLLO_ASSERT_OK_AND_ASSIGN(const absl::Span<const Candidate> candidates,
                                sampler.SelectCandidates(absl::MakeConstSpan(logits).subspan(
                                                             position * vocab_size, vocab_size),
                                                         history, parameters, position + 1));

    double total = 0.0;
    for (const Candidate& candidate : candidates) total += candidate.weight;
    std::vector<int32_t> kept;
    for (const Candidate& candidate : candidates) kept.push_back(candidate.token_id);
    ASSERT_EQ(kept, entry["kept"].get<std::vector<int32_t>>());
    for (size_t i = 0; i < kept.size(); ++i) {
      const double expected = entry["probabilities"][i];
      // Both exponentials have a relative error of a few 1e-7.
      EXPECT_NEAR(candidates[i].weight / total, expected, 1e-8 + 3e-6 * expected) << kept[i];
    }
  }
}

}  // namespace
}  // namespace phyllo
