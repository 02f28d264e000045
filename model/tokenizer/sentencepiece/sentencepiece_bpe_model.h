// SentencePiece's byte pair encoding.
#ifndef PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_BPE_MODEL_H_
#define PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_BPE_MODEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/sentencepiece/sentencepiece_model.h"
#include "model/tokenizer/word_models/bpe_merger.h"
#include "model/tokenizer/word_models/mark_cuts.h"
#include "model/tokenizer/word_models/prefix_trie.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "model/tokenizer/word_models/word_model.h"
#include "model/tokenizer/word_models/word_token.h"

namespace phyllo {

// bpe_model.cc of SentencePiece 0.2: two neighbours are merged if together they spell a piece, the
// piece of highest score first, of equal ones the leftmost. User-defined pieces are cut out before
// and take no part. Immutable, thread-safe.
class SentencePieceBpeModel : public WordModel {
 public:
  // Of longer pieces all ways to merge them would be too many.
  static constexpr size_t kMaxPieceBytes = 512;

  // `vocabulary` holds all pieces of `model`; `user_defined` finds its user-defined ones. Errors:
  // INVALID_ARGUMENT (a piece is too long), UNIMPLEMENTED (unused pieces).
  static absl::StatusOr<std::unique_ptr<SentencePieceBpeModel>> Create(
      const SentencePieceModel& model, Vocabulary vocabulary, PrefixTrie user_defined);

  std::unique_ptr<Scratch> NewScratch() const override;

  // Never fails.
  absl::Status Encode(absl::string_view word, Scratch* scratch,
                      std::vector<WordToken>* tokens) const override;

 private:
  struct BpeScratch;

  SentencePieceBpeModel(Vocabulary vocabulary, PrefixTrie user_defined);

  absl::Status AddPieces(const SentencePieceModel& model);
  void EncodePart(absl::string_view part, BpeScratch* scratch) const;
  void MergePending(BpeScratch* scratch) const;
  void AppendUnknown(absl::string_view text, std::vector<WordToken>* tokens) const;

  const PrefixTrie user_defined_;
  int32_t unk_id_ = 0;
  bool byte_fallback_ = false;
  std::array<int32_t, 256> byte_ids_;  // Of <0x00> ... <0xFF>, if byte_fallback_.
  // Ids of the characters that occur in pieces. One that is no piece itself has an id of its own,
  // from vocabulary().size() on: it may still be merged.
  absl::flat_hash_map<char32_t, int32_t> character_ids_;
  BpeMerger merger_;
  MarkCuts cuts_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_SENTENCEPIECE_SENTENCEPIECE_BPE_MODEL_H_
