// A tokenizer from a .tiktoken file.
#ifndef PHYLLO_MODEL_TOKENIZER_FORMATS_TIKTOKEN_FILE_H_
#define PHYLLO_MODEL_TOKENIZER_FORMATS_TIKTOKEN_FILE_H_

#include "absl/status/statusor.h"
#include "model/tokenizer/formats/tokenizer_components.h"
#include "model/tokenizer/formats/tokenizer_settings.h"
#include "model/tokenizer/tokenizer_files.h"

namespace phyllo {

// Encodes and decodes as the tiktoken library (0.12) does with files.tiktoken, whose lines are
// "base64 rank". Tokens are written in the alphabet of byte_level.h. Nothing is added with
// add_special_tokens. Errors: INVALID_ARGUMENT (malformed; a byte is no token; a token of more than
// 1024 bytes; no spec.json, and a name that is not known).
absl::StatusOr<TokenizerComponents> MakeTiktokenTokenizer(const TokenizerFiles& files,
                                                          const TokenizerSettings& settings);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_FORMATS_TIKTOKEN_FILE_H_
