// The tokenizer in the metadata of a GGUF file as the tokenizer.json and tokenizer_config.json that
// the tokenizers library would read the same tokenizer from.
#ifndef PHYLLO_MODEL_GGUF_GGUF_TOKENIZER_H_
#define PHYLLO_MODEL_GGUF_GGUF_TOKENIZER_H_

#include <string>

#include "absl/status/statusor.h"
#include "model/checkpoint/gguf.h"

namespace phyllo {

// The text of a tokenizer.json. tokenizer.ggml.model "gpt2" is byte-level BPE with the merges of
// the file, cut into words by the expression that tokenizer.ggml.pre names; "llama" is
// SentencePiece's BPE, whose merges come from the pieces and their scores as transformers derives
// them. Control tokens are special, user-defined ones are added and not special, unused ones are
// left out. Errors: NOT_FOUND (the file has no tokenizer), INVALID_ARGUMENT (a list is missing, of
// a wrong type or length, or holds text that is not UTF-8), UNIMPLEMENTED (another model or
// pre-tokenizer, by name).
absl::StatusOr<std::string> GgufTokenizerJson(const GgufContents& contents);

// The text of a tokenizer_config.json: bos, eos, unk and pad tokens, and the chat template if there
// is one. Errors: INVALID_ARGUMENT (an id outside of the vocabulary, a template that is not UTF-8).
absl::StatusOr<std::string> GgufTokenizerConfigJson(const GgufContents& contents);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_GGUF_GGUF_TOKENIZER_H_
