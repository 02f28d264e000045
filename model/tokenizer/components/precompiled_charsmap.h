// The rules by which SentencePiece normalizes text ("precompiled_charsmap"): a table of strings and
// what each becomes, compiled into a double-array trie.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRECOMPILED_CHARSMAP_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRECOMPILED_CHARSMAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace phyllo {

// Immutable, thread-safe.
class PrecompiledCharsmap {
 public:
  struct Rule {
    size_t length = 0;              // Bytes of the text that are replaced; 0: no rule applies.
    absl::string_view replacement;  // Valid UTF-8. Lives as long as the map.
  };

  // Of no rules.
  PrecompiledCharsmap() = default;

  // From the bytes: the size of the trie in bytes (uint32, little-endian), the trie (units of 32
  // bits, Darts-clone), and the replacements, each ended by a zero byte. Errors: INVALID_ARGUMENT
  // (sizes that do not fit; replacements that are not valid UTF-8).
  static absl::StatusOr<PrecompiledCharsmap> Parse(absl::string_view bytes);

  // The rule of the shortest string, or of the longest, that `text` begins with. A zero byte ends
  // the text. O(longest string of the table).
  Rule FindShortest(absl::string_view text) const { return Find(text, /*shortest=*/true); }
  Rule FindLongest(absl::string_view text) const { return Find(text, /*shortest=*/false); }

 private:
  Rule Find(absl::string_view text, bool shortest) const;

  std::vector<uint32_t> units_;  // Any bits: every step is checked.
  std::string replacements_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_PRECOMPILED_CHARSMAP_H_
