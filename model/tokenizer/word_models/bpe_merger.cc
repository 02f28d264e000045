// Short words scan an array for the lowest rank, which is quicker than a queue and quadratic in a
// length that is bounded. Long words use a linked list of symbols and a queue of candidate pairs.
// An entry of the queue is current if the pair that begins at its position still has its rank;
// every join makes at most two new pairs, so the queue sees at most 3 n entries.
#include "model/tokenizer/word_models/bpe_merger.h"

#include <algorithm>
#include <functional>

namespace phyllo {
namespace {

constexpr size_t kMaxShortWord = 24;  // Symbols.

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

void BpeMerger::Add(int32_t left, int32_t right, uint32_t rank, int32_t merged) {
  merges_[PairKey(left, right)] = {rank, merged};
}

uint32_t BpeMerger::RankOf(int32_t left, int32_t right) const {
  const auto found = merges_.find(PairKey(left, right));
  return found == merges_.end() ? kNoMerge : found->second.rank;
}

int32_t BpeMerger::MergedOf(int32_t left, int32_t right) const {
  return merges_.find(PairKey(left, right))->second.merged;
}

void BpeMerger::Merge(Scratch* scratch, std::vector<Symbol>* symbols) const {
  if (symbols->size() < 2) return;
  if (symbols->size() <= kMaxShortWord) {
    MergeShort(scratch, symbols);
  } else {
    MergeLong(scratch, symbols);
  }
}

void BpeMerger::MergeShort(Scratch* scratch, std::vector<Symbol>* symbols) const {
  std::vector<Symbol>& word = *symbols;
  std::vector<uint32_t>& ranks = scratch->ranks;
  ranks.resize(word.size());
  size_t count = word.size();
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = RankOf(word[i].id, word[i + 1].id);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNoMerge) break;
    word[best] = {MergedOf(word[best].id, word[best + 1].id),
                  word[best].length + word[best + 1].length};
    for (size_t i = best + 1; i + 1 < count; ++i) {
      word[i] = word[i + 1];
      ranks[i] = ranks[i + 1];
    }
    --count;
    if (best > 0) ranks[best - 1] = RankOf(word[best - 1].id, word[best].id);
    if (best + 1 < count) ranks[best] = RankOf(word[best].id, word[best + 1].id);
  }
  word.resize(count);
}

void BpeMerger::MergeLong(Scratch* scratch, std::vector<Symbol>* symbols) const {
  std::vector<Symbol>& word = *symbols;
  const auto count = static_cast<int32_t>(word.size());
  std::vector<uint64_t>& queue = scratch->queue;
  std::vector<uint32_t>& ranks = scratch->ranks;
  std::vector<int32_t>& next = scratch->next;
  std::vector<int32_t>& previous = scratch->previous;
  queue.clear();
  ranks.resize(word.size());
  next.resize(word.size());
  previous.resize(word.size());
  for (int32_t i = 0; i < count; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    ranks[i] = i + 1 < count ? RankOf(word[i].id, word[i + 1].id) : kNoMerge;
    if (ranks[i] != kNoMerge)
      queue.push_back(static_cast<uint64_t>(ranks[i]) << 32 | static_cast<uint32_t>(i));
  }
  scratch->queue_operation_count += static_cast<int64_t>(queue.size());
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  const auto update = [&](int32_t at) {
    ranks[at] = next[at] < count ? RankOf(word[at].id, word[next[at]].id) : kNoMerge;
    if (ranks[at] == kNoMerge) return;
    queue.push_back(static_cast<uint64_t>(ranks[at]) << 32 | static_cast<uint32_t>(at));
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    ++scratch->queue_operation_count;
  };
  while (!queue.empty()) {
    const uint64_t top = queue.front();
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    queue.pop_back();
    const auto at = static_cast<int32_t>(top & 0xFFFFFFFF);
    if (ranks[at] != static_cast<uint32_t>(top >> 32)) continue;
    const int32_t joined = next[at];
    word[at] = {MergedOf(word[at].id, word[joined].id), word[at].length + word[joined].length};
    ranks[joined] = kNoMerge;
    next[at] = next[joined];
    if (next[at] < count) previous[next[at]] = at;
    update(at);
    if (previous[at] >= 0) update(previous[at]);
  }
  size_t kept = 0;
  for (int32_t i = 0; i < count; i = next[i]) word[kept++] = word[i];
  word.resize(kept);
}

}  // namespace phyllo
