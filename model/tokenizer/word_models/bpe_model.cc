#include "model/tokenizer/word_models/bpe_model.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/byte_level.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/word_models/word_cache.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

absl::StatusOr<Vocabulary> ReadVocabulary(const nlohmann::json& model) {
  const nlohmann::json* vocab = FindField(model, "vocab");
  if (vocab == nullptr || !vocab->is_object())
    return absl::InvalidArgumentError("model: field \"vocab\" must be an object");
  Vocabulary vocabulary;
  for (auto entry = vocab->begin(); entry != vocab->end(); ++entry) {
    if (!entry->is_number_integer())
      return absl::InvalidArgumentError("model: an id of \"vocab\" is not an integer");
    PHYLLO_RETURN_IF_ERROR(vocabulary.Add(entry.key(), entry->get<int64_t>()));
  }
  return vocabulary;
}

absl::StatusOr<BpeOptions> ReadOptions(const nlohmann::json& model, const Vocabulary& vocabulary) {
  BpeOptions options;
  const nlohmann::json* dropout = FindField(model, "dropout");
  if (dropout != nullptr && !(dropout->is_number() && dropout->get<double>() == 0.0)) {
    return absl::UnimplementedError("tokenizer.json: model BPE with dropout is not supported");
  }
  PHYLLO_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                          StringFieldOr(model, "continuing_subword_prefix", ""));
  PHYLLO_ASSIGN_OR_RETURN(options.end_of_word_suffix,
                          StringFieldOr(model, "end_of_word_suffix", ""));
  PHYLLO_ASSIGN_OR_RETURN(options.fuse_unk, BoolFieldOr(model, "fuse_unk", false));
  PHYLLO_ASSIGN_OR_RETURN(options.byte_fallback, BoolFieldOr(model, "byte_fallback", false));
  PHYLLO_ASSIGN_OR_RETURN(options.ignore_merges, BoolFieldOr(model, "ignore_merges", false));
  PHYLLO_ASSIGN_OR_RETURN(const std::string unk_token, StringFieldOr(model, "unk_token", ""));
  if (unk_token.empty()) return options;
  const absl::optional<int32_t> unk_id = vocabulary.IdOf(unk_token);
  if (!unk_id.has_value())
    return absl::InvalidArgumentError("model: unk_token is not in the vocabulary");
  options.unk_id = *unk_id;
  return options;
}

// Adds the merge number `rank`, of `left` and `right`; `prefix` is dropped from `right`.
absl::Status AddMerge(const Vocabulary& vocabulary, size_t prefix, absl::string_view left,
                      absl::string_view right, int64_t rank, BpeMerger* merger) {
  const absl::optional<int32_t> left_id = vocabulary.IdOf(left);
  const absl::optional<int32_t> right_id = vocabulary.IdOf(right);
  absl::optional<int32_t> merged_id;
  if (right.size() >= prefix) {
    merged_id = vocabulary.IdOf(absl::StrCat(left, right.substr(prefix)));
  }
  if (!left_id.has_value() || !right_id.has_value() || !merged_id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: merge ", rank, " names a token that is not in the vocabulary"));
  }
  merger->Add(*left_id, *right_id, static_cast<uint32_t>(rank), *merged_id);
  return absl::OkStatus();
}

absl::StatusOr<BpeMerger> ReadMerges(const nlohmann::json& model, const Vocabulary& vocabulary,
                                     size_t prefix) {
  const nlohmann::json* merges = FindField(model, "merges");
  if (merges == nullptr || !merges->is_array())
    return absl::InvalidArgumentError("model: field \"merges\" must be an array");
  BpeMerger merger;
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
      PHYLLO_RETURN_IF_ERROR(AddMerge(vocabulary, prefix, both.substr(0, space),
                                      both.substr(space + 1), rank++, &merger));
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      PHYLLO_RETURN_IF_ERROR(AddMerge(vocabulary, prefix, merge[0].get_ref<const std::string&>(),
                                      merge[1].get_ref<const std::string&>(), rank++, &merger));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("model: merge ", rank, " is neither a string nor a pair of strings"));
    }
  }
  return merger;
}

}  // namespace

struct BpeModel::BpeScratch : Scratch {
  BpeMerger::Scratch merger;
  std::vector<WordToken> symbols;
  WordCache cache;
};

absl::StatusOr<std::unique_ptr<BpeModel>> BpeModel::FromJson(const nlohmann::json& model,
                                                             bool byte_level) {
  PHYLLO_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(model));
  PHYLLO_ASSIGN_OR_RETURN(BpeOptions options, ReadOptions(model, vocabulary));
  options.byte_level = byte_level;
  PHYLLO_ASSIGN_OR_RETURN(BpeMerger merger,
                          ReadMerges(model, vocabulary, options.continuing_subword_prefix.size()));
  return absl::make_unique<BpeModel>(std::move(vocabulary), std::move(options), std::move(merger));
}

BpeModel::BpeModel(Vocabulary vocabulary, BpeOptions options, BpeMerger merger)
    : WordModel(std::move(vocabulary)), options_(std::move(options)), merger_(std::move(merger)) {
  FillByteTables();
  FindCuts();
}

void BpeModel::FillByteTables() {
  for (int byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = vocabulary().IdOf(absl::StrFormat("<0x%02X>", byte)).value_or(-1);
    std::string character;
    if (options_.byte_level) {
      AppendUtf8(ByteLevelCharacter(static_cast<uint8_t>(byte)), &character);
    } else if (byte < 0x80) {
      character.push_back(static_cast<char>(byte));
    }
    byte_ids_[byte] = character.empty() ? -1 : vocabulary().IdOf(character).value_or(-1);
  }
  if (!options_.byte_level || !options_.ignore_merges) return;
  for (const auto& [token, id] : vocabulary().ids()) {
    std::string bytes = ByteLevelToBytes(token);
    // A token with characters outside the alphabet is no word of bytes.
    if (BytesToByteLevel(bytes) == token) ids_of_bytes_.emplace(std::move(bytes), id);
  }
}

void BpeModel::FindCuts() {
  if (options_.byte_level || options_.ignore_merges ||
      !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty() ||
      !vocabulary().IdOf(MarkCuts::kMark).has_value()) {
    return;
  }
  cuts_.emplace();
  for (const auto& entry : vocabulary().ids()) cuts_->AddToken(entry.first);
}

std::unique_ptr<WordModel::Scratch> BpeModel::NewScratch() const {
  return absl::make_unique<BpeScratch>();
}

absl::Status BpeModel::Encode(absl::string_view word, Scratch* scratch,
                              std::vector<WordToken>* tokens) const {
  auto* const own = static_cast<BpeScratch*>(scratch);
  if (!cuts_.has_value()) {
    EncodeWord(word, own, tokens);
    return absl::OkStatus();
  }
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = cuts_->EndOfPart(word, begin);
    EncodeWord(word.substr(begin, end - begin), own, tokens);
    begin = end;
  }
  return absl::OkStatus();
}

void BpeModel::EncodeWord(absl::string_view word, BpeScratch* scratch,
                          std::vector<WordToken>* tokens) const {
  if (scratch->cache.Find(word, tokens)) return;
  scratch->symbols.clear();
  EncodeUncached(word, scratch);
  scratch->cache.Insert(word, scratch->symbols);
  tokens->insert(tokens->end(), scratch->symbols.begin(), scratch->symbols.end());
}

absl::optional<int32_t> BpeModel::WholeWordId(absl::string_view word) const {
  if (!options_.byte_level) return vocabulary().IdOf(word);
  const auto found = ids_of_bytes_.find(word);
  if (found == ids_of_bytes_.end()) return absl::nullopt;
  return found->second;
}

void BpeModel::EncodeUncached(absl::string_view word, BpeScratch* scratch) const {
  if (options_.ignore_merges) {
    const absl::optional<int32_t> id = WholeWordId(word);
    if (id.has_value()) {
      scratch->symbols.push_back({*id, static_cast<int32_t>(word.size())});
      return;
    }
  }
  SplitIntoSymbols(word, &scratch->symbols);
  merger_.Merge(&scratch->merger, &scratch->symbols);
}

void BpeModel::SplitIntoSymbols(absl::string_view word, std::vector<WordToken>* symbols) const {
  WordToken unknown{options_.unk_id, 0};  // Characters waiting to become the unknown token.
  int32_t dropped = 0;                    // Bytes before the first symbol.
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
  if (!decorated) return vocabulary().IdOf(character).value_or(-1);
  const std::string spelled =
      options_.byte_level ? BytesToByteLevel(character) : std::string(character);
  return vocabulary()
      .IdOf(absl::StrCat(first ? "" : options_.continuing_subword_prefix, spelled,
                         last ? options_.end_of_word_suffix : ""))
      .value_or(-1);
}

bool BpeModel::AppendByteTokens(absl::string_view character,
                                std::vector<WordToken>* symbols) const {
  for (const char byte : character) {
    if (fallback_ids_[static_cast<unsigned char>(byte)] < 0) return false;
  }
  for (const char byte : character)
    symbols->push_back({fallback_ids_[static_cast<unsigned char>(byte)], 1});
  return true;
}

}  // namespace phyllo
