// The merges of a SentencePiece BPE vocabulary, which itself has only pieces and scores.
#ifndef PHYLLO_MODEL_GGUF_SCORE_MERGES_H_
#define PHYLLO_MODEL_GGUF_SCORE_MERGES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace phyllo {

struct ScoredPiece {
  absl::string_view text;  // valid UTF-8
  double score = 0;
  int64_t id = 0;
};

// Every way to make a piece of two others, in the order in which they are merged: the highest score
// of the result first; of equal ones the longer left part (in characters), the longer right part,
// the smaller ids. It is the list that transformers writes into a tokenizer.json
// (convert_slow_tokenizer.py, generate_merges). The texts are borrowed.
std::vector<std::pair<absl::string_view, absl::string_view>> MergesByScore(
    absl::Span<const ScoredPiece> pieces);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_GGUF_SCORE_MERGES_H_
