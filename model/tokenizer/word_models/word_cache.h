// Remembers the tokens of short words that came up lately.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_CACHE_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_CACHE_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "model/tokenizer/word_models/word_token.h"

namespace phyllo {

// A direct-mapped table: a word replaces whatever had its place. It never changes a result, only
// its cost. Thread-compatible; each thread has its own, so there is no lock. About 300 KiB once
// used.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 16;
  static constexpr size_t kMaxTokens = 6;

  // Appends the tokens of `word` and returns true if they are here.
  bool Find(absl::string_view word, std::vector<WordToken>* tokens) const {
    if (word.size() > kMaxWordBytes || entries_.empty()) return false;
    const Key key(word);
    const Entry& entry = entries_[key.Slot()];
    if (entry.token_count == 0 || !(entry.key == key)) return false;
    for (size_t i = 0; i < entry.token_count; ++i)
      tokens->push_back({entry.ids[i], entry.lengths[i]});
    return true;
  }

  // Remembers `tokens` for `word`, if both are short.
  void Insert(absl::string_view word, const std::vector<WordToken>& tokens) {
    if (word.size() > kMaxWordBytes || tokens.empty() || tokens.size() > kMaxTokens) return;
    if (entries_.empty()) entries_.resize(kEntries);
    const Key key(word);
    Entry& entry = entries_[key.Slot()];
    entry.key = key;
    entry.token_count = static_cast<uint8_t>(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      entry.ids[i] = tokens[i].id;
      entry.lengths[i] = static_cast<uint8_t>(tokens[i].length);
    }
  }

 private:
  static constexpr size_t kEntries = 1 << 13;

  struct Key {
    uint64_t low = 0;
    uint64_t high = 0;
    uint8_t size = 0;  // Words may end in zero bytes.

    Key() = default;
    explicit Key(absl::string_view word) : size(static_cast<uint8_t>(word.size())) {
      char bytes[kMaxWordBytes] = {};
      std::memcpy(bytes, word.data(), word.size());
      std::memcpy(&low, bytes, 8);
      std::memcpy(&high, bytes + 8, 8);
    }
    friend bool operator==(const Key& a, const Key& b) {
      return a.low == b.low && a.high == b.high && a.size == b.size;
    }
    size_t Slot() const {
      const uint64_t mixed = (low ^ (high * 0x9E3779B97F4A7C15u) ^ size) * 0xD6E8FEB86659FD93u;
      return static_cast<size_t>(mixed >> 51);  // 13 bits.
    }
  };

  struct Entry {
    Key key;
    uint8_t token_count = 0;  // 0: unused.
    uint8_t lengths[kMaxTokens];
    int32_t ids[kMaxTokens];
  };

  std::vector<Entry> entries_;  // Empty until the first Insert.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_WORD_CACHE_H_
