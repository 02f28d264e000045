// best[i] is the best path from the begin of the word to byte i: its score, and the token that ends
// it. Only begins of characters are reached; every one of them is, because a character of which no
// token consists is an unknown token. Of equal scores the path that was found first stays, which is
// the one whose last token is longest.
#include "model/tokenizer/word_models/unigram_model.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/word_models/word_cache.h"
#include "nlohmann/json.hpp"

namespace phyllo {

struct UnigramModel::UnigramScratch : Scratch {
  struct PathEnd {
    double score = 0.0;
    int32_t begin = -1;  // Of the last token of the path; -1: not reached.
    int32_t id = 0;      // Its id.
  };
  std::vector<PathEnd> best;      // [bytes of the word + 1]
  std::vector<WordToken> tokens;  // Of the word, last first.
  WordCache cache;
};

absl::StatusOr<std::unique_ptr<UnigramModel>> UnigramModel::FromJson(const nlohmann::json& model) {
  const nlohmann::json* vocab = FindField(model, "vocab");
  if (vocab == nullptr || !vocab->is_array())
    return absl::InvalidArgumentError("model Unigram: field \"vocab\" must be an array");
  Vocabulary vocabulary;
  std::vector<Candidate> candidates;
  double min_score = std::numeric_limits<double>::infinity();
  for (const nlohmann::json& entry : *vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return absl::InvalidArgumentError(absl::StrCat("model Unigram: entry ", candidates.size(),
                                                     " of \"vocab\" is not [token, score]"));
    }
    const auto id = static_cast<int32_t>(candidates.size());
    PHYLLO_RETURN_IF_ERROR(vocabulary.Add(entry[0].get_ref<const std::string&>(), id));
    candidates.push_back({id, entry[1].get<double>()});
    min_score = std::min(min_score, candidates.back().score);
  }
  Options options;
  PHYLLO_ASSIGN_OR_RETURN(const int64_t unk_id, IntegerFieldOr(model, "unk_id", -1));
  if (unk_id < -1 || unk_id >= vocabulary.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model Unigram: unk_id ", unk_id, " is not in the vocabulary of ", vocabulary.size()));
  }
  options.unk_id = static_cast<int32_t>(unk_id);
  options.unk_score = min_score - kUnknownPenalty;
  PHYLLO_ASSIGN_OR_RETURN(options.byte_fallback, BoolFieldOr(model, "byte_fallback", false));
  return absl::make_unique<UnigramModel>(std::move(vocabulary), options, candidates);
}

UnigramModel::UnigramModel(Vocabulary vocabulary, const Options& options,
                           const std::vector<Candidate>& candidates)
    : WordModel(std::move(vocabulary)),
      options_(options),
      scores_(static_cast<size_t>(this->vocabulary().size())) {
  std::vector<PrefixTrie::Entry> entries;
  entries.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    scores_[candidate.id] = candidate.score;
    entries.push_back({*this->vocabulary().TokenOf(candidate.id), candidate.id});
  }
  trie_ = PrefixTrie(std::move(entries));
  for (int byte = 0; byte < 256; ++byte) {
    fallback_ids_[byte] = this->vocabulary().IdOf(absl::StrFormat("<0x%02X>", byte)).value_or(-1);
  }
}

std::unique_ptr<WordModel::Scratch> UnigramModel::NewScratch() const {
  return absl::make_unique<UnigramScratch>();
}

absl::Status UnigramModel::Encode(absl::string_view word, Scratch* scratch,
                                  std::vector<WordToken>* tokens) const {
  auto* const own = static_cast<UnigramScratch*>(scratch);
  if (own->cache.Find(word, tokens)) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(FindBestPath(word, own));
  ReadPathBack(word, own);
  std::reverse(own->tokens.begin(), own->tokens.end());
  own->cache.Insert(word, own->tokens);
  tokens->insert(tokens->end(), own->tokens.begin(), own->tokens.end());
  return absl::OkStatus();
}

absl::Status UnigramModel::FindBestPath(absl::string_view word, UnigramScratch* scratch) const {
  auto& best = scratch->best;
  best.assign(word.size() + 1, {});
  const auto extend = [&](size_t begin, size_t length, int32_t id, double score) {
    UnigramScratch::PathEnd& end = best[begin + length];
    double candidate = score + best[begin].score;
    if (options_.as_sentencepiece) candidate = static_cast<float>(candidate);
    if (end.begin >= 0 && !(candidate > end.score)) return;
    end.score = candidate;
    end.begin = static_cast<int32_t>(begin);
    end.id = id;
  };
  for (size_t at = 0; at < word.size();) {
    const auto character_length = static_cast<size_t>(Utf8Length(word[at]));
    bool has_character = false;
    trie_.ForEachPrefix(word.substr(at), [&](size_t length, int32_t id) {
      extend(at, length, id, scores_[id]);
      has_character = has_character || length == character_length;
    });
    if (!has_character) {
      if (options_.unk_id < 0) {
        return absl::InvalidArgumentError(
            "the text has a character that is not in the vocabulary, which names no unknown token");
      }
      extend(at, character_length, options_.unk_id, options_.unk_score);
    }
    at += character_length;
  }
  return absl::OkStatus();
}

void UnigramModel::ReadPathBack(absl::string_view word, UnigramScratch* scratch) const {
  const auto& best = scratch->best;
  scratch->tokens.clear();
  size_t end = word.size();
  while (end > 0) {
    auto begin = static_cast<size_t>(best[end].begin);
    if (best[end].id != options_.unk_id) {
      scratch->tokens.push_back({best[end].id, static_cast<int32_t>(end - begin)});
    } else {
      while (begin > 0 && best[begin].id == options_.unk_id) {
        begin = static_cast<size_t>(best[begin].begin);
      }
      AppendUnknown(word.substr(begin, end - begin), &scratch->tokens);
    }
    end = begin;
  }
}

void UnigramModel::AppendUnknown(absl::string_view unknown,
                                 std::vector<WordToken>* reversed) const {
  if (!options_.as_sentencepiece) {
    const absl::optional<int32_t> id = vocabulary().IdOf(unknown);
    if (id.has_value()) {
      reversed->push_back({*id, static_cast<int32_t>(unknown.size())});
      return;
    }
  }
  const bool spelled =
      options_.byte_fallback && std::all_of(unknown.begin(), unknown.end(), [&](char byte) {
        return fallback_ids_[static_cast<unsigned char>(byte)] >= 0;
      });
  if (!spelled) {
    reversed->push_back({options_.unk_id, static_cast<int32_t>(unknown.size())});
    return;
  }
  for (size_t i = unknown.size(); i-- > 0;) {
    reversed->push_back({fallback_ids_[static_cast<unsigned char>(unknown[i])], 1});
  }
}

}  // namespace phyllo
