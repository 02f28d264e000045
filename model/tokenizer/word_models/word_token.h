// One token of a word.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_TOKEN_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_TOKEN_H_

#include <cstdint>

namespace phyllo {

struct WordToken {
  int32_t id;
  int32_t length;  // Bytes of the word.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_TOKEN_H_
