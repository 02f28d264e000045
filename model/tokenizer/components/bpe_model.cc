#include "model/tokenizer/components/bpe_model.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/byte_level.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

// Ids index a vector; no vocabulary is near this.
constexpr int64_t kMaxVocabSize = 1 << 24;

constexpr absl::string_view kMark = "\xE2\x96\x81";  // U+2581, SentencePiece's space.

}  // namespace

absl::StatusOr<std::unique_ptr<BpeModel>> BpeModel::FromJson(const nlohmann::json& model,
                                                             bool byte_level) {
  auto result = absl::WrapUnique(new BpeModel());
  result->options_.byte_level = byte_level;
  PHYLLO_RETURN_IF_ERROR(result->ReadVocabulary(model));
  PHYLLO_RETURN_IF_ERROR(result->ReadOptions(model));
  PHYLLO_RETURN_IF_ERROR(result->ReadMerges(model));
  result->FillByteTables();
  result->FindJoinsBeforeMark();
  return result;
}

absl::Status BpeModel::ReadVocabulary(const nlohmann::json& model) {
  const nlohmann::json* vocab = FindField(model, "vocab");
  if (vocab == nullptr || !vocab->is_object())
    return absl::InvalidArgumentError("model: field \"vocab\" must be an object");
  ids_.reserve(vocab->size());
  for (auto entry = vocab->begin(); entry != vocab->end(); ++entry) {
    if (!entry->is_number_integer())
      return absl::InvalidArgumentError("model: an id of \"vocab\" is not an integer");
    const auto id = entry->get<int64_t>();
    if (id < 0 || id >= kMaxVocabSize)
      return absl::InvalidArgumentError(absl::StrCat("model: id ", id, " is out of range"));
    if (id >= vocab_size()) tokens_.resize(static_cast<size_t>(id) + 1);
    if (tokens_[id].has_value())
      return absl::InvalidArgumentError(absl::StrCat("model: two tokens have the id ", id));
    tokens_[id] = entry.key();
    ids_.emplace(entry.key(), static_cast<int32_t>(id));
  }
  return absl::OkStatus();
}

absl::Status BpeModel::ReadOptions(const nlohmann::json& model) {
  const nlohmann::json* dropout = FindField(model, "dropout");
  if (dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0.0)) {
    return absl::UnimplementedError("tokenizer.json: model BPE with dropout is not supported");
  }
  PHYLLO_ASSIGN_OR_RETURN(options_.continuing_subword_prefix,
                          StringFieldOr(model, "continuing_subword_prefix", ""));
  PHYLLO_ASSIGN_OR_RETURN(options_.end_of_word_suffix,
                          StringFieldOr(model, "end_of_word_suffix", ""));
  PHYLLO_ASSIGN_OR_RETURN(options_.fuse_unk, BoolFieldOr(model, "fuse_unk", false));
  PHYLLO_ASSIGN_OR_RETURN(options_.byte_fallback, BoolFieldOr(model, "byte_fallback", false));
  PHYLLO_ASSIGN_OR_RETURN(options_.ignore_merges, BoolFieldOr(model, "ignore_merges", false));
  PHYLLO_ASSIGN_OR_RETURN(const std::string unk_token, StringFieldOr(model, "unk_token", ""));
  if (unk_token.empty()) return absl::OkStatus();
  const absl::optional<int32_t> unk_id = IdOf(unk_token);
  if (!unk_id.has_value())
    return absl::InvalidArgumentError("model: unk_token is not in the vocabulary");
  options_.unk_id = *unk_id;
  return absl::OkStatus();
}

absl::Status BpeModel::ReadMerges(const nlohmann::json& model) {
  const nlohmann::json* merges = FindField(model, "merges");
  if (merges == nullptr || !merges->is_array())
    return absl::InvalidArgumentError("model: field \"merges\" must be an array");
  int64_t rank = 0;
  for (const nlohmann::json& merge : *merges) {
    if (merge.is_string()) {
      const absl::string_view both = merge.get_ref<const std::string&>();
      const size_t space = both.find(' ');
      if (space == absl::string_view::npos ||
          both.find(' ', space + 1) != absl::string_view::npos) {
        return absl::InvalidArgumentError(
            absl::StrCat("model: merge ", rank, " is not two tokens with a space between"));
      }
      PHYLLO_RETURN_IF_ERROR(AddMerge(both.substr(0, space), both.substr(space + 1), rank++));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      PHYLLO_RETURN_IF_ERROR(AddMerge(merge[0].get_ref<const std::string&>(),
                                      merge[1].get_ref<const std::string&>(), rank++));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("model: merge ", rank, " is neither a string nor a pair of strings"));
    }
  }
  return absl::OkStatus();
}

absl::Status BpeModel::AddMerge(absl::string_view left, absl::string_view right, int64_t rank) {
  const size_t prefix = options_.continuing_subword_prefix.size();
  const absl::optional<int32_t> left_id = IdOf(left);
  const absl::optional<int32_t> right_id = IdOf(right);
  absl::optional<int32_t> merged_id;
  if (right.size() >= prefix) merged_id = IdOf(absl::StrCat(left, right.substr(prefix)));
  if (!left_id.has_value() || !right_id.has_value() || !merged_id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: merge ", rank, " names a token that is not in the vocabulary"));
  }
  merger_.Add(*left_id, *right_id, static_cast<uint32_t>(rank), *merged_id);
  return absl::OkStatus();
}

void BpeModel::FillByteTables() {
  for (int byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = IdOf(absl::StrFormat("<0x%02X>", byte)).value_or(-1);
    std::string character;
    if (options_.byte_level) {
      AppendUtf8(ByteLevelCharacter(static_cast<uint8_t>(byte)), &character);
    } else if (byte < 0x80) {
      character.push_back(static_cast<char>(byte));
    }
    byte_ids_[byte] = character.empty() ? -1 : IdOf(character).value_or(-1);
  }
  if (!options_.byte_level || !options_.ignore_merges) return;
  for (const auto& [token, id] : ids_) {
    std::string bytes = ByteLevelToBytes(token);
    // A token with characters outside the alphabet is no word of bytes.
    if (BytesToByteLevel(bytes) == token) ids_of_bytes_.emplace(std::move(bytes), id);
  }
}

absl::optional<int32_t> BpeModel::IdOf(absl::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return absl::nullopt;
  return found->second;
}

absl::optional<absl::string_view> BpeModel::TokenOf(int32_t id) const {
  if (id < 0 || id >= vocab_size() || !tokens_[id].has_value()) return absl::nullopt;
  return absl::string_view(*tokens_[id]);
}

void BpeModel::FindJoinsBeforeMark() {
  cut_before_mark_ = !options_.byte_level && !options_.ignore_merges &&
                     options_.continuing_subword_prefix.empty() &&
                     options_.end_of_word_suffix.empty() && IdOf(kMark).has_value();
  if (!cut_before_mark_) return;
  for (const auto& entry : ids_) {
    const absl::string_view token = entry.first;
    for (size_t at = token.find(kMark, 1); at != absl::string_view::npos;
         at = token.find(kMark, at + 1)) {
      joins_before_mark_.insert(CodePointAt(token, PreviousCharacter(token, at)));
    }
  }
}

void BpeModel::Encode(absl::string_view word, BpeScratch* scratch,
                      std::vector<BpeMerger::Symbol>* tokens) const {
  size_t begin = 0;
  if (cut_before_mark_) {
    for (size_t at = word.find(kMark, 1); at != absl::string_view::npos;
         at = word.find(kMark, at + kMark.size())) {
      if (joins_before_mark_.contains(CodePointAt(word, PreviousCharacter(word, at)))) continue;
      EncodeWord(word.substr(begin, at - begin), scratch, tokens);
      begin = at;
    }
  }
  EncodeWord(word.substr(begin), scratch, tokens);
}

void BpeModel::EncodeWord(absl::string_view word, BpeScratch* scratch,
                          std::vector<BpeMerger::Symbol>* tokens) const {
  if (scratch->cache.Find(word, tokens)) return;
  scratch->symbols.clear();
  EncodeUncached(word, scratch);
  scratch->cache.Insert(word, scratch->symbols);
  tokens->insert(tokens->end(), scratch->symbols.begin(), scratch->symbols.end());
}

void BpeModel::EncodeUncached(absl::string_view word, BpeScratch* scratch) const {
  if (options_.ignore_merges) {
    const auto& whole_words = options_.byte_level ? ids_of_bytes_ : ids_;
    const auto found = whole_words.find(word);
    if (found != whole_words.end()) {
      scratch->symbols.push_back({found->second, static_cast<int32_t>(word.size())});
      return;
    }
  }
  SplitIntoSymbols(word, &scratch->symbols);
  merger_.Merge(&scratch->merger, &scratch->symbols);
}

void BpeModel::SplitIntoSymbols(absl::string_view word,
                                std::vector<BpeMerger::Symbol>* symbols) const {
  BpeMerger::Symbol unknown{options_.unk_id, 0};  // Characters waiting to become the unknown token.
  int32_t dropped = 0;                            // Bytes before the first symbol.
  const auto flush_unknown = [&] {
    if (unknown.length > 0) symbols->push_back(unknown);
    unknown.length = 0;
  };
  for (size_t at = 0; at < word.size();) {
    const size_t length = options_.byte_level ? 1 : Utf8Length(word[at]);
    const absl::string_view character = word.substr(at, length);
    const int32_t id = CharacterId(character, at == 0, at + length == word.size());
    if (id >= 0) {
      flush_unknown();
      symbols->push_back({id, static_cast<int32_t>(length)});
    } else if (options_.byte_fallback && !options_.byte_level &&
               AppendByteTokens(character, symbols)) {
      // A pending unknown token stays pending, as in tokenizers: it is written after these bytes.
    } else if (options_.unk_id >= 0) {
      if (!options_.fuse_unk) flush_unknown();
      unknown.length += static_cast<int32_t>(length);
    } else {
      (symbols->empty() ? dropped : symbols->back().length) += static_cast<int32_t>(length);
    }
    at += length;
  }
  flush_unknown();
  if (!symbols->empty()) symbols->front().length += dropped;
}

int32_t BpeModel::CharacterId(absl::string_view character, bool first, bool last) const {
  const bool decorated = (!first && !options_.continuing_subword_prefix.empty()) ||
                         (last && !options_.end_of_word_suffix.empty());
  if (character.size() == 1 && !decorated)
    return byte_ids_[static_cast<unsigned char>(character[0])];
  if (!decorated) return IdOf(character).value_or(-1);
  const std::string spelled =
      options_.byte_level ? BytesToByteLevel(character) : std::string(character);
  return IdOf(absl::StrCat(first ? "" : options_.continuing_subword_prefix, spelled,
                           last ? options_.end_of_word_suffix : ""))
      .value_or(-1);
}

bool BpeModel::AppendByteTokens(absl::string_view character,
                                std::vector<BpeMerger::Symbol>* symbols) const {
  for (const char byte : character) {
    if (fallback_ids_[static_cast<unsigned char>(byte)] < 0) return false;
  }
  for (const char byte : character)
    symbols->push_back({fallback_ids_[static_cast<unsigned char>(byte)], 1});
  return true;
}

}  // namespace phyllo
