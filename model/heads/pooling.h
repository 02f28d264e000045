// One vector for a sequence out of the vectors of its tokens.
#ifndef PHYLLO_MODEL_HEADS_POOLING_H_
#define PHYLLO_MODEL_HEADS_POOLING_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/tensor/matrix_view.h"

namespace phyllo {

// Which vector stands for a sequence of n tokens.
enum class Pooling {
  kLast,  // the last token's
  kMean,  // the mean of all
  kCls,   // the first token's
  kNone,  // all n of them
};

// The name for messages, such as "mean".
absl::string_view PoolingName(Pooling pooling);

// Takes the vectors of a sequence as its prompt is computed, chunk by chunk, and keeps only what
// the result needs: one vector, or with kNone all. The mean is summed in double in the order of
// positions, so that the result does not depend on how the prompt was cut. Thread-compatible.
class Pooler {
 public:
  // token_count >= 1 vectors of hidden_size >= 1 elements.
  Pooler(Pooling pooling, int64_t token_count, int64_t hidden_size);

  // Whether Add uses the vectors of any position in [begin, end), and which: the rest need not even
  // be normalised.
  struct Positions {
    int64_t begin = 0;
    int64_t end = 0;
    bool empty() const { return begin >= end; }
  };
  Positions Wanted(int64_t begin, int64_t end) const;

  // Adds vectors [n, hidden_size] of the positions from next_position() on. Requires that they are
  // not beyond token_count.
  void Add(MatrixView<const float> vectors);

  // Positions below `position` have been seen; those among them that Wanted named were added.
  // Requires position >= next_position().
  void SkipTo(int64_t position) { next_position_ = position; }

  // Forgets everything: the positions come again from 0.
  void Restart();

  int64_t next_position() const { return next_position_; }
  bool complete() const { return next_position_ == token_count_; }

  // The number of vectors of the result: token_count with kNone, else 1.
  int64_t output_rows() const { return pooling_ == Pooling::kNone ? token_count_ : 1; }

  // The result [output_rows, hidden_size]. Requires complete().
  std::vector<float> Finish() const;

 private:
  const Pooling pooling_;
  const int64_t token_count_;
  const int64_t hidden_size_;
  int64_t next_position_ = 0;
  std::vector<double> sums_;    // [hidden_size], of kMean
  std::vector<float> vectors_;  // [output_rows, hidden_size], of all others
};

// Keeps the first `dimensions` elements of `vector` (Matryoshka embeddings), 1 <= dimensions <= its
// size, and, if `normalize`, divides them by their Euclidean norm, summed in double. A vector of
// zeros stays as it is.
void TruncateAndNormalize(int64_t dimensions, bool normalize, std::vector<float>& vector);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_HEADS_POOLING_H_
