// The tokens of a model and their ids.
#ifndef PHYLLO_MODEL_TOKENIZER_WORD_MODELS_VOCABULARY_H_
#define PHYLLO_MODEL_TOKENIZER_WORD_MODELS_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace phyllo {

// A table in both directions. Immutable once filled, then thread-safe. Movable, not copyable.
class Vocabulary {
 public:
  // Ids index a vector; no vocabulary is near this.
  static constexpr int64_t kMaxSize = int64_t{1} << 22;

  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  // Gives `token` the `id`. A token that has one already is found under the new one, and the old
  // one keeps its text. Errors: INVALID_ARGUMENT (id out of range, or taken).
  absl::Status Add(absl::string_view token, int64_t id);

  absl::optional<int32_t> IdOf(absl::string_view token) const;

  // The token `id` as written in the file; none if there is no such id. Lives as long as the
  // vocabulary.
  absl::optional<absl::string_view> TokenOf(int32_t id) const;

  // One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

  // Token to id, in no order.
  const absl::node_hash_map<std::string, int32_t>& ids() const { return ids_; }

 private:
  absl::node_hash_map<std::string, int32_t> ids_;
  std::vector<const std::string*> tokens_;  // [size] keys of ids_, which do not move; null: unused.
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_TOKENIZER_WORD_MODELS_VOCABULARY_H_
