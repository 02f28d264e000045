#include "model/tokenizer/word_models/vocabulary.h"

#include "absl/strings/str_cat.h"

namespace phyllo {

absl::Status Vocabulary::Add(absl::string_view token, int64_t id) {
  if (id < 0 || id >= kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: id ", id, " is out of range (limit ", kMaxSize, ")"));
  }
  if (id >= size()) tokens_.resize(static_cast<size_t>(id) + 1);
  if (tokens_[id] != nullptr)
    return absl::InvalidArgumentError(absl::StrCat("model: two tokens have the id ", id));
  const auto entry = ids_.insert_or_assign(std::string(token), static_cast<int32_t>(id)).first;
  tokens_[id] = &entry->first;
  return absl::OkStatus();
}

absl::optional<int32_t> Vocabulary::IdOf(absl::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return absl::nullopt;
  return found->second;
}

absl::optional<absl::string_view> Vocabulary::TokenOf(int32_t id) const {
  if (id < 0 || id >= size() || tokens_[id] == nullptr) return absl::nullopt;
  return absl::string_view(*tokens_[id]);
}

}  // namespace phyllo
