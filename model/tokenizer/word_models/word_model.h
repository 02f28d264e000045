// The component "model" of tokenizer.json.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_MODEL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "model/tokenizer/word_models/word_token.h"

namespace phyllo {

// Cuts words into tokens of its vocabulary. Immutable, thread-safe.
class WordModel {
 public:
  // What one thread needs to encode words. Thread-compatible; belongs to the model that made it.
  class Scratch {
   public:
    virtual ~Scratch() = default;
  };

  virtual ~WordModel() = default;

  virtual std::unique_ptr<Scratch> NewScratch() const = 0;

  // Appends the tokens of `word` (valid UTF-8, less than 2^31 bytes) to `tokens`: their ids and the
  // number of bytes of `word` each stands for. Errors: INVALID_ARGUMENT (a character is not in the
  // vocabulary and the file says nothing of such).
  virtual absl::Status Encode(absl::string_view word, Scratch* scratch,
                              std::vector<WordToken>* tokens) const = 0;

  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  explicit WordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}

 private:
  const Vocabulary vocabulary_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_MODEL_H_
