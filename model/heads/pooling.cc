#include "model/heads/pooling.h"

#include <algorithm>
#include <cmath>

#include "model/base/check.h"

namespace phyllo {

absl::string_view PoolingName(Pooling pooling) {
  switch (pooling) {
    case Pooling::kLast:
      return "last";
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kNone:
      return "none";
  }
  return "unknown";
}

Pooler::Pooler(Pooling pooling, int64_t token_count, int64_t hidden_size)
    : pooling_(pooling), token_count_(token_count), hidden_size_(hidden_size) {
  PHYLLO_CHECK(token_count >= 1 && hidden_size >= 1);
  Restart();
}

Pooler::Positions Pooler::Wanted(int64_t begin, int64_t end) const {
  switch (pooling_) {
    case Pooling::kLast:
      return {std::max(begin, token_count_ - 1), end};
    case Pooling::kCls:
      return {begin, std::min<int64_t>(end, 1)};
    case Pooling::kMean:
    case Pooling::kNone:
      break;
  }
  return {begin, end};
}

void Pooler::Add(MatrixView<const float> vectors) {
  PHYLLO_CHECK(vectors.cols == hidden_size_ && next_position_ + vectors.rows <= token_count_);
  for (int64_t i = 0; i < vectors.rows; ++i, ++next_position_) {
    const float* const row = vectors.Row(i);
    if (pooling_ == Pooling::kMean) {
      for (int64_t j = 0; j < hidden_size_; ++j) sums_[j] += static_cast<double>(row[j]);
    } else if (pooling_ == Pooling::kNone) {
      vectors_.insert(vectors_.end(), row, row + hidden_size_);
    } else if (next_position_ == (pooling_ == Pooling::kCls ? 0 : token_count_ - 1)) {
      vectors_.assign(row, row + hidden_size_);
    }
  }
}

void Pooler::Restart() {
  next_position_ = 0;
  vectors_.clear();
  if (pooling_ == Pooling::kMean) sums_.assign(hidden_size_, 0.0);
}

std::vector<float> Pooler::Finish() const {
  PHYLLO_CHECK(complete());
  if (pooling_ != Pooling::kMean) return vectors_;
  std::vector<float> mean(hidden_size_);
  const auto count = static_cast<double>(token_count_);
  for (int64_t j = 0; j < hidden_size_; ++j) mean[j] = static_cast<float>(sums_[j] / count);
  return mean;
}

void TruncateAndNormalize(int64_t dimensions, bool normalize, std::vector<float>& vector) {
  PHYLLO_CHECK(dimensions >= 1 && dimensions <= static_cast<int64_t>(vector.size()));
  vector.resize(dimensions);
  if (!normalize) return;
  double squares = 0.0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  if (squares == 0.0) return;
  const double scale = 1.0 / std::sqrt(squares);
  for (float& value : vector) value = static_cast<float>(value * scale);
}

}  // namespace phyllo
