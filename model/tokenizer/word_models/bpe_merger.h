// The merging of byte pair encoding, on ids.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MERGER_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MERGER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "model/tokenizer/word_models/word_token.h"

namespace phyllo {

// A table of merges: pairs of ids, each with a rank and the id it becomes. Merge repeatedly joins
// the adjacent pair of lowest rank, leftmost first, until no pair is in the table (Sennrich et al.
// 2016, as in tokenizers, Word::merge_all). Immutable once filled, then thread-safe.
class BpeMerger {
 public:
  using Symbol = WordToken;

  // Thread-compatible.
  struct Scratch {
    // Entries pushed to the queue so far: at most 3 n for a word of n symbols, whatever the word.
    int64_t queue_operation_count = 0;
    std::vector<uint64_t> queue;    // Binary heap of rank << 32 | position.
    std::vector<uint32_t> ranks;    // [n] of the pair that begins at the position; kNoMerge: none.
    std::vector<int32_t> next;      // [n] position of the symbol after; n: none.
    std::vector<int32_t> previous;  // [n]; -1: none.
  };

  // A later merge of the same pair replaces an earlier one.
  void Add(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  // Merges `symbols` in place. O(n log n).
  void Merge(Scratch* scratch, std::vector<Symbol>* symbols) const;

 private:
  static constexpr uint32_t kNoMerge = 0xFFFFFFFF;

  struct Result {
    uint32_t rank;
    int32_t merged;
  };

  uint32_t RankOf(int32_t left, int32_t right) const;
  int32_t MergedOf(int32_t left, int32_t right) const;
  void MergeShort(Scratch* scratch, std::vector<Symbol>* symbols) const;
  void MergeLong(Scratch* scratch, std::vector<Symbol>* symbols) const;

  absl::flat_hash_map<uint64_t, Result> merges_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_BPE_MERGER_H_
