// Finds where a text has gone on before from its latest tokens: prompt lookup drafting.
//   NgramIndex index;
//   index.Extend(token_ids);
//   const NgramIndex::Match match = index.Find(token_ids);  // token_ids[match.next] came next then
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_NGRAM_INDEX_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_NGRAM_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace phyllo {

// Chains of the places of equal pairs of tokens, as LZ77 compressors keep them (RFC 1951, section
// 4): every token costs one insertion and a search looks at a bounded number of places. Takes at
// most 16 bytes a token; the tokens themselves stay with the caller. Thread-compatible.
class NgramIndex {
 public:
  static constexpr int64_t kMinMatch = 2;
  static constexpr int64_t kMaxMatch = 32;       // longer ones are not told apart
  static constexpr int64_t kMaxCandidates = 24;  // places that Find looks at

  // An earlier place whose `length` latest tokens, in [kMinMatch, kMaxMatch], are those of the text
  // now, and the index of the token that followed them. length 0: there is none.
  struct Match {
    int64_t next = 0;
    int64_t length = 0;
  };

  // Takes in what is new of `token_ids` [n], which begin with those of the last call. Requires n <
  // 2^31.
  void Extend(absl::Span<const int32_t> token_ids);

  // The longest match, of several the latest. Requires that `token_ids` are those of the last
  // Extend.
  Match Find(absl::Span<const int32_t> token_ids);

  // The `count` tokens that follow if the text goes on as after `match`, to `out`. A match that
  // overlaps the end of the text goes on with what it gives itself, so that a loop goes round.
  static void Continue(absl::Span<const int32_t> token_ids, const Match& match, int64_t count,
                       std::vector<int32_t>& out);

 private:
  static constexpr int32_t kNone = -1;

  void Insert(absl::Span<const int32_t> token_ids, int64_t index);
  size_t Bucket(int32_t first, int32_t second) const;

  std::vector<int32_t> heads_;     // [power of 2] the latest index of a pair's second token
  std::vector<int32_t> previous_;  // [n] the index before it in the same bucket
  Match last_;                     // what Find found last, when there were last_count_ tokens
  int64_t last_count_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_SPECULATION_NGRAM_INDEX_H_
