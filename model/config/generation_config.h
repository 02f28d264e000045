// The defaults of generation that a model folder carries, as its generation_config.json gives them.
#ifndef PHYLLO_MODEL_CONFIG_GENERATION_CONFIG_H_
#define PHYLLO_MODEL_CONFIG_GENERATION_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/config/model_config.h"

namespace phyllo {

// A plain value. An absent field means that the file does not say.
struct GenerationConfig {
  std::optional<bool> do_sample;                // false = greedy
  std::optional<double> temperature;            // >= 0
  std::optional<int64_t> top_k;                 // >= 0; 0 = no limit
  std::optional<double> top_p;                  // 0 .. 1
  std::optional<double> min_p;                  // 0 .. 1
  std::optional<double> repetition_penalty;     // > 0; 1 = none
  std::optional<double> typical_p;              // 0 .. 1
  std::optional<int64_t> no_repeat_ngram_size;  // >= 0; 0 = off
  // bad_words_ids without those that are one eos_token_id, which the reference leaves out too, and
  // every id of suppress_tokens: the last id of a sequence cannot follow the others. At most 1024,
  // of 1 to 256 ids.
  std::vector<std::vector<int64_t>> banned_token_sequences;
  std::map<int64_t, double> logit_bias;   // sequence_bias: at most 1024, -1000 .. 1000
  std::optional<int64_t> max_new_tokens;  // > 0
  std::optional<int64_t> bos_token_id;
  std::vector<int64_t> eos_token_id;  // one, several or none
  std::optional<int64_t> pad_token_id;
};

// Reads the text of a generation_config.json. Unknown keys are ignored: the file holds many that
// concern only training tools. Errors: INVALID_ARGUMENT, naming the key and the value: not JSON,
// nested deeper than 64, a wrong type, out of range. UNIMPLEMENTED: a sequence_bias for more than
// one token.
absl::StatusOr<GenerationConfig> ParseGenerationConfig(absl::string_view json);

// The ids that end a generation: those of generation_config.json if it names any, else those of
// config.json. Sorted, unique.
std::vector<int64_t> EndOfSequenceIds(const GenerationConfig& generation,
                                      const ModelConfig& config);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_GENERATION_CONFIG_H_
