// What the files beside the vocabulary say: tokenizer_config.json, added_tokens.json and
// special_tokens_map.json.
#ifndef PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_SETTINGS_H_
#define PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/tokenizer_files.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "nlohmann/json.hpp"

namespace phyllo {

struct TokenizerSettings {
  nlohmann::json config;              // tokenizer_config.json, an object; {} if there is none.
  nlohmann::json added_tokens;        // added_tokens.json, an object: text to id.
  nlohmann::json special_tokens_map;  // special_tokens_map.json, an object.
  std::string chat_template;          // Jinja source, or empty.
};

// Parses the files. chat_template.jinja wins over the key "chat_template". Errors: INVALID_ARGUMENT
// (one is not a JSON object).
absl::StatusOr<TokenizerSettings> ParseTokenizerSettings(const TokenizerFiles& files);

// The token `key` ("bos_token") of tokenizer_config.json or, if that does not name it, of
// special_tokens_map.json: a string, or an object with its "content". Empty if neither does.
// Errors: INVALID_ARGUMENT (of another type).
absl::StatusOr<std::string> NamedToken(const TokenizerSettings& settings, const char* key);

// The added tokens of a model without tokenizer.json, as that file lists them: those of
// "added_tokens_decoder" in tokenizer_config.json, those of added_tokens.json, and the special
// tokens that either names (or, if they name none, `default_special`) and the vocabulary has.
// Errors: INVALID_ARGUMENT (malformed).
absl::StatusOr<nlohmann::json> ListAddedTokens(const TokenizerSettings& settings,
                                               const Vocabulary& vocabulary,
                                               const std::vector<std::string>& default_special);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_SETTINGS_H_
