// The files of a model folder from which a tokenizer can be made.
#ifndef PHYLLO_MODEL_TOKENIZER_TOKENIZER_FILES_H_
#define PHYLLO_MODEL_TOKENIZER_TOKENIZER_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace phyllo {

// Contents of files; empty: there is none. One of the first four says what the tokens are; if there
// are several, the first of them in this order counts and the others are not read.
struct TokenizerFiles {
  std::string tokenizer_json;       // tokenizer.json
  std::string sentencepiece_model;  // tokenizer.model
  std::string vocab_json;           // vocab.json ...
  std::string merges_txt;           // ... and merges.txt, both or neither
  std::string tiktoken;             // NAME.tiktoken

  // Of a .tiktoken file: NAME, and spec.json, an object with "pat_str" (the regular expression that
  // cuts words) and "special_tokens" (text to id). Without it NAME must be cl100k_base or
  // o200k_base.
  std::string tiktoken_name;
  std::string tiktoken_spec;

  std::string tokenizer_config_json;    // tokenizer_config.json
  std::string chat_template;            // chat_template.jinja
  std::string added_tokens_json;        // added_tokens.json; not read beside tokenizer.json
  std::string special_tokens_map_json;  // special_tokens_map.json
};

// Reads the files of `directory` that count. Errors: NOT_FOUND (none of the first four),
// INVALID_ARGUMENT (several .tiktoken files), DATA_LOSS (a file cannot be read).
absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::string& directory);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_TOKENIZER_FILES_H_
