// What every format of tokenizer files comes down to.
#ifndef PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_COMPONENTS_H_
#define PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_COMPONENTS_H_

#include <memory>
#include <string>

#include "model/tokenizer/decoding/token_decoder.h"
#include "model/tokenizer/encode_pipeline.h"

namespace phyllo {

struct TokenizerComponents {
  std::unique_ptr<EncodePipeline> pipeline;
  std::unique_ptr<TokenDecoder> decoder;
  // The tokens that the format itself names; TokenizerSettings wins. Empty: none.
  std::string bos_token, eos_token, unk_token, pad_token;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_FORMATS_TOKENIZER_COMPONENTS_H_
