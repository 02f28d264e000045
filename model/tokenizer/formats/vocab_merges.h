// A tokenizer from vocab.json and merges.txt.
#ifndef PHYLLO_MODEL_TOKENIZER_FORMATS_VOCAB_MERGES_H_
#define PHYLLO_MODEL_TOKENIZER_FORMATS_VOCAB_MERGES_H_

#include "absl/status/statusor.h"
#include "model/tokenizer/formats/tokenizer_components.h"
#include "model/tokenizer/formats/tokenizer_settings.h"
#include "model/tokenizer/tokenizer_files.h"

namespace phyllo {

// Byte-level BPE, made into the tokenizer.json that transformers' converter makes of these files:
// GPT-2's expression cuts the words, unless "tokenizer_class" in tokenizer_config.json is
// Qwen2Tokenizer, which has its own. The special tokens are those that the settings name, else
// <|endoftext|>. Errors: INVALID_ARGUMENT (malformed), UNIMPLEMENTED (another tokenizer_class, by
// name).
absl::StatusOr<TokenizerComponents> MakeVocabMergesTokenizer(const TokenizerFiles& files,
                                                             const TokenizerSettings& settings);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_FORMATS_VOCAB_MERGES_H_
