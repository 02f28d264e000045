// The component "model" of type Unigram: the tokens of a word whose scores add up to the most.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_UNIGRAM_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_UNIGRAM_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/word_models/prefix_trie.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "model/tokenizer/word_models/word_model.h"
#include "model/tokenizer/word_models/word_token.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// Kudo 2018; the search is that of SentencePiece (unigram_model.cc, EncodeOptimized), which the
// `tokenizers` library follows in double precision. O(bytes of the word times longest token) in
// time, 16 bytes for each byte of the word. Immutable, thread-safe.
class UnigramModel : public WordModel {
 public:
  // A character of which no token consists costs so much more than the least likely token.
  static constexpr double kUnknownPenalty = 10.0;

  struct Options {
    int32_t unk_id = -1;         // -1: none, and a text that needs it is an error.
    double unk_score = 0.0;      // Of a character of which no token consists.
    bool byte_fallback = false;  // Unknown characters become <0x00> ... <0xFF> where all are there.
    // As SentencePiece does it: scores of paths are rounded to float, which decides between paths
    // of almost equal score. Else as tokenizers: they are double, and a run of unknown characters
    // that spells a token is that token.
    bool as_sentencepiece = false;
  };

  // A token that words may be cut into.
  struct Candidate {
    int32_t id;  // Of the vocabulary.
    double score;
  };

  // From the object "model". Errors: INVALID_ARGUMENT (malformed; unk_id out of range).
  static absl::StatusOr<std::unique_ptr<UnigramModel>> FromJson(const nlohmann::json& model);

  // From its parts. All ids are of `vocabulary`; of several candidates with one text the last
  // counts.
  UnigramModel(Vocabulary vocabulary, const Options& options,
               const std::vector<Candidate>& candidates);

  std::unique_ptr<Scratch> NewScratch() const override;

  // Neighbouring unknown characters are one unknown token (or their bytes).
  absl::Status Encode(absl::string_view word, Scratch* scratch,
                      std::vector<WordToken>* tokens) const override;

 private:
  struct UnigramScratch;

  absl::Status FindBestPath(absl::string_view word, UnigramScratch* scratch) const;
  void ReadPathBack(absl::string_view word, UnigramScratch* scratch) const;
  void AppendUnknown(absl::string_view unknown, std::vector<WordToken>* reversed) const;

  const Options options_;
  PrefixTrie trie_;                        // Of the candidates.
  std::vector<double> scores_;             // [vocabulary().size()]
  std::array<int32_t, 256> fallback_ids_;  // Of <0x00> ... <0xFF>, -1: none.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_UNIGRAM_MODEL_H_
