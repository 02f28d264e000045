// Invariants:
// - previous_[i] and heads_ hold indices i >= 1 of tokens whose predecessor is in the index, and
// chains go strictly downwards, so every walk ends.
// - Different pairs may share a bucket; what is found is compared token by token.
#include "services/transformer/engine/speculation/ngram_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace phyllo {
namespace {

constexpr size_t kLeastBuckets = 256;

// The number of equal tokens that end at `a` and at `b`, a < b; at most kMaxMatch.
int64_t CommonLength(absl::Span<const int32_t> token_ids, int64_t a, int64_t b) {
  const int64_t most = std::min(a + 1, NgramIndex::kMaxMatch);
  int64_t length = 0;
  while (length < most && token_ids[a - length] == token_ids[b - length]) ++length;
  return length;
}

}  // namespace

size_t NgramIndex::Bucket(int32_t first, int32_t second) const {
  const uint64_t pair =
      (static_cast<uint64_t>(static_cast<uint32_t>(first)) << 32) | static_cast<uint32_t>(second);
  return (pair * 0x9e3779b97f4a7c15ull >> 32) & (heads_.size() - 1);
}

void NgramIndex::Insert(absl::Span<const int32_t> token_ids, int64_t index) {
  int32_t& head = heads_[Bucket(token_ids[index - 1], token_ids[index])];
  previous_[index] = head;
  head = static_cast<int32_t>(index);
}

void NgramIndex::Extend(absl::Span<const int32_t> token_ids) {
  auto begin = std::max<int64_t>(1, static_cast<int64_t>(previous_.size()));
  previous_.resize(token_ids.size(), kNone);
  if (token_ids.size() > heads_.size()) {
    size_t buckets = std::max(kLeastBuckets, heads_.size());
    while (buckets < token_ids.size()) buckets *= 2;
    heads_.assign(buckets, kNone);
    begin = 1;
  }
  for (auto i = begin; i < static_cast<int64_t>(token_ids.size()); ++i) Insert(token_ids, i);
}

NgramIndex::Match NgramIndex::Find(absl::Span<const int32_t> token_ids) {
  const int64_t count = static_cast<int64_t>(token_ids.size());
  const int64_t last = count - 1;
  Match best;
  const auto consider = [&](int64_t index) {
    const int64_t length = CommonLength(token_ids, index, last);
    if (length >= kMinMatch && length > best.length) best = {index + 1, length};
  };
  int64_t index = last >= 1 ? previous_[last] : kNone;
  for (int64_t i = 0; i < kMaxCandidates && index != kNone && best.length < kMaxMatch; ++i) {
    consider(index);
    index = previous_[index];
  }
  // A place that was followed so far may lie behind many later ones that are shorter.
  const int64_t followed = last_.next + count - last_count_ - 1;
  if (last_.length > 0 && followed < last) consider(followed);
  last_ = best;
  last_count_ = count;
  return best;
}

void NgramIndex::Continue(absl::Span<const int32_t> token_ids, const Match& match, int64_t count,
                          std::vector<int32_t>& out) {
  const auto size = static_cast<int64_t>(token_ids.size());
  out.clear();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = match.next + i;
    out.push_back(index < size ? token_ids[index] : out[index - size]);
  }
}

}  // namespace phyllo
