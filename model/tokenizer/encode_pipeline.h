// The way of a text through the components of tokenizer.json, from added tokens to ids.
#ifndef PHYLLO_MODEL_TOKENIZER_ENCODE_PIPELINE_H_
#define PHYLLO_MODEL_TOKENIZER_ENCODE_PIPELINE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "model/tokenizer/components/added_tokens.h"
#include "model/tokenizer/components/normalizer.h"
#include "model/tokenizer/components/post_processor.h"
#include "model/tokenizer/components/pre_tokenizer.h"
#include "model/tokenizer/text/aligned_text.h"
#include "model/tokenizer/text/encoding.h"
#include "model/tokenizer/text/regex.h"
#include "model/tokenizer/word_models/word_model.h"
#include "model/tokenizer/word_models/word_token.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// What a pipeline consists of, from whatever file.
struct EncodeComponents {
  std::unique_ptr<AddedTokens> added_tokens;
  std::unique_ptr<Normalizer> normalizer;       // Null: none.
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // Null: none.
  std::unique_ptr<WordModel> model;
  PostProcessor post_processor;
};

// Thread-safe: everything is immutable but the scratch space, of which each call in flight has its
// own.
class EncodePipeline {
 public:
  // From the whole of tokenizer.json. Errors: INVALID_ARGUMENT (malformed), UNIMPLEMENTED (a
  // component that is not known).
  static absl::StatusOr<std::unique_ptr<EncodePipeline>> FromJson(const nlohmann::json& file,
                                                                  absl::string_view chat_template);

  // REQUIRES: added_tokens and model.
  explicit EncodePipeline(EncodeComponents components) : components_(std::move(components)) {}

  // Encodes `text` (valid UTF-8), with the literal ranges of Tokenizer::EncodeWithLiteralRanges, in
  // order and in bounds.
  absl::StatusOr<Encoding> Encode(absl::string_view text,
                                  absl::Span<const LiteralRange> literal_ranges,
                                  const EncodeOptions& options) const;

  const AddedTokens& added_tokens() const { return *components_.added_tokens; }
  const Vocabulary& vocabulary() const { return components_.model->vocabulary(); }

 private:
  struct Scratch {
    RegexScratch regex;
    std::unique_ptr<WordModel::Scratch> model;
    std::vector<WordToken> tokens;
  };
  struct Call;  // The arguments and the result of one call of Encode.

  std::unique_ptr<Scratch> TakeScratch() const;
  void ReturnScratch(std::unique_ptr<Scratch> scratch) const;

  absl::Status EncodeSection(AlignedText section, Call* call) const;
  absl::Status EncodePlain(AlignedText plain, Call* call) const;

  const EncodeComponents components_;

  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_scratch_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_ENCODE_PIPELINE_H_
