// The tokens of "added_tokens", which are cut out of a text before anything else happens to it.
#ifndef PHYLLO_MODEL_TOKENIZER_COMPONENTS_ADDED_TOKENS_H_
#define PHYLLO_MODEL_TOKENIZER_COMPONENTS_ADDED_TOKENS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "model/tokenizer/components/normalizer.h"
#include "model/tokenizer/text/string_trie.h"
#include "nlohmann/json_fwd.hpp"

namespace phyllo {

// One entry of added_tokens, with the file's own names.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;
  bool single_word = false;  // Not beside a word character.
  bool lstrip = false;       // Takes the white space before it along.
  bool rstrip = false;       // And after it.
  bool normalized = false;   // Looked for in the normalized text, not in the original.
  bool control = false;      // special, or spelled <|...|> or <｜...｜>.
  bool in_template = false;  // The chat template spells it.
};

// Immutable, thread-safe.
class AddedTokens {
 public:
  // A found token, or (token == null) the text between two of them. Bytes [begin, end) of the
  // searched text.
  struct Part {
    const AddedToken* token;
    size_t begin;
    size_t end;
  };

  // Whether a token that spells bytes [begin, end) of the searched text may be recognised there.
  using Filter = absl::FunctionRef<bool(const AddedToken& token, size_t begin, size_t end)>;

  // From the array "added_tokens"; null: none. `normalizer` (may be null) is applied to the tokens
  // that are looked for in the normalized text. Errors: INVALID_ARGUMENT (malformed).
  static absl::StatusOr<AddedTokens> FromJson(const nlohmann::json& list,
                                              const Normalizer* normalizer,
                                              absl::string_view chat_template);

  // Cuts `text` at the tokens that are looked for in the original (or, with `normalized`, in the
  // normalized) text: leftmost first, the longest of those that begin at a place.
  std::vector<Part> Cut(absl::string_view text, bool normalized, Filter allowed) const;

  // True if Cut finds nothing in any text.
  bool HasNone(bool normalized) const {
    return (normalized ? in_normalized_ : in_original_).empty();
  }

  const AddedToken* Find(int32_t id) const;
  absl::optional<int32_t> IdOf(absl::string_view content) const;
  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  AddedTokens() = default;

  absl::Status Add(const nlohmann::json& entry, const Normalizer* normalizer,
                   absl::string_view chat_template);

  std::vector<AddedToken> tokens_;
  absl::flat_hash_map<int32_t, size_t> by_id_;           // Index into tokens_.
  absl::flat_hash_map<std::string, size_t> by_content_;  // Likewise.
  StringTrie in_original_;                               // Values: likewise.
  StringTrie in_normalized_;
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_COMPONENTS_ADDED_TOKENS_H_
