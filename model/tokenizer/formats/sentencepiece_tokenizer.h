// A tokenizer from a tokenizer.model.
#ifndef PHYLLO_MODEL_TOKENIZER_FORMATS_SENTENCEPIECE_TOKENIZER_H_
#define PHYLLO_MODEL_TOKENIZER_FORMATS_SENTENCEPIECE_TOKENIZER_H_

#include "absl/status/statusor.h"
#include "model/tokenizer/formats/tokenizer_components.h"
#include "model/tokenizer/formats/tokenizer_settings.h"
#include "model/tokenizer/sentencepiece/sentencepiece_model.h"

namespace phyllo {

// Text is encoded and decoded as the SentencePiece library (0.2) does with this model, of type BPE
// or Unigram. What that library leaves to its caller is as in transformers' LlamaTokenizer:
// - control pieces are special added tokens, recognised in the original text; each stretch between
//   two is encoded like a text of its own, with its own dummy prefix (tokenizer_config.json,
//   "legacy": false: only the first).
// - add_special_tokens puts the bos piece before the text and the eos piece after it as
// "add_bos_token"
//   and "add_eos_token" say; without those keys only the bos piece, if there is one.
// The unknown piece is never recognised in text; decoded it is the model's unk_surface.
// Errors: INVALID_ARGUMENT (malformed), UNIMPLEMENTED (a setting that is not known, by name).
absl::StatusOr<TokenizerComponents> MakeSentencePieceTokenizer(const SentencePieceModel& model,
                                                               const TokenizerSettings& settings);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_FORMATS_SENTENCEPIECE_TOKENIZER_H_
