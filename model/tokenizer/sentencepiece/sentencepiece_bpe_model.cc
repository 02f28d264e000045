// Since every merge must spell a piece, all merges are known beforehand: each piece, cut in two
// wherever both parts are pieces or single characters. The rank of a merge is the rank of its
// piece's score, so that equal scores have equal ranks and the leftmost goes first.
#include "model/tokenizer/sentencepiece/sentencepiece_bpe_model.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/unicode.h"
#include "model/tokenizer/word_models/word_cache.h"

namespace phyllo {
namespace {

using PieceType = SentencePieceModel::PieceType;

constexpr int32_t kNoId = -1;  // Of a character that occurs in no piece; merges with nothing.

bool IsMergeable(const SentencePieceModel::Piece& piece) {
  return piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
}

bool IsOneCharacter(absl::string_view text) {
  return static_cast<size_t>(Utf8Length(text[0])) == text.size();
}

// The scores of the mergeable pieces, highest first, each once.
std::vector<float> RankScores(const SentencePieceModel& model) {
  std::vector<float> scores;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (IsMergeable(piece)) scores.push_back(piece.score);
  }
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  return scores;
}

}  // namespace

struct SentencePieceBpeModel::BpeScratch : Scratch {
  BpeMerger::Scratch merger;
  std::vector<WordToken> pending;  // Characters between two user-defined pieces.
  absl::string_view pending_text;  // Theirs.
  std::vector<WordToken> tokens;   // Of a part.
  WordCache cache;
};

SentencePieceBpeModel::SentencePieceBpeModel(Vocabulary vocabulary, PrefixTrie user_defined)
    : WordModel(std::move(vocabulary)), user_defined_(std::move(user_defined)) {}

absl::StatusOr<std::unique_ptr<SentencePieceBpeModel>> SentencePieceBpeModel::Create(
    const SentencePieceModel& model, Vocabulary vocabulary, PrefixTrie user_defined) {
  auto result =
      absl::WrapUnique(new SentencePieceBpeModel(std::move(vocabulary), std::move(user_defined)));
  PHYLLO_RETURN_IF_ERROR(result->AddPieces(model));
  return result;
}

absl::Status SentencePieceBpeModel::AddPieces(const SentencePieceModel& model) {
  absl::flat_hash_map<absl::string_view, int32_t> ids;  // Of what may be merged.
  int32_t next_character = static_cast<int32_t>(vocabulary().size());
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (piece.type == PieceType::kUnused)
      return absl::UnimplementedError("an unused piece in a model of type BPE is not supported");
    if (piece.type == PieceType::kUnknown) unk_id_ = static_cast<int32_t>(id);
    if (!IsMergeable(piece)) continue;
    if (piece.piece.size() > kMaxPieceBytes) {
      return absl::InvalidArgumentError(absl::StrCat("piece ", id, " has ", piece.piece.size(),
                                                     " bytes, more than the limit of ",
                                                     kMaxPieceBytes));
    }
    ids.emplace(piece.piece, static_cast<int32_t>(id));
    cuts_.AddToken(piece.piece);
  }
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (!IsMergeable(piece)) continue;
    const absl::string_view text = piece.piece;
    for (size_t at = 0; at < text.size(); at += Utf8Length(text[at])) {
      const absl::string_view character = text.substr(at, Utf8Length(text[at]));
      const auto found = ids.find(character);
      const int32_t id = found != ids.end() ? found->second : next_character;
      if (character_ids_.emplace(CodePointAt(text, at), id).second && id == next_character)
        ++next_character;
    }
  }
  const auto id_of = [&](absl::string_view text) {
    const auto found = ids.find(text);
    if (found != ids.end()) return found->second;
    return IsOneCharacter(text) ? character_ids_.find(CodePointAt(text, 0))->second : kNoId;
  };
  const std::vector<float> scores = RankScores(model);
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    if (!IsMergeable(piece)) continue;
    const auto rank = static_cast<uint32_t>(
        std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>()) -
        scores.begin());
    const absl::string_view text = piece.piece;
    for (size_t at = Utf8Length(text[0]); at < text.size(); at += Utf8Length(text[at])) {
      const int32_t left = id_of(text.substr(0, at));
      if (left == kNoId) continue;
      const int32_t right = id_of(text.substr(at));
      if (right != kNoId) merger_.Add(left, right, rank, static_cast<int32_t>(id));
    }
  }
  byte_fallback_ = model.byte_fallback;
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = vocabulary().IdOf(absl::StrFormat("<0x%02X>", byte)).value_or(unk_id_);
  }
  return absl::OkStatus();
}

std::unique_ptr<WordModel::Scratch> SentencePieceBpeModel::NewScratch() const {
  return absl::make_unique<BpeScratch>();
}

absl::Status SentencePieceBpeModel::Encode(absl::string_view word, Scratch* scratch,
                                           std::vector<WordToken>* tokens) const {
  auto* const own = static_cast<BpeScratch*>(scratch);
  const size_t before = tokens->size();
  for (size_t begin = 0; begin < word.size();) {
    const size_t end = cuts_.EndOfPart(word, begin);
    const absl::string_view part = word.substr(begin, end - begin);
    begin = end;
    own->tokens.clear();
    if (!own->cache.Find(part, &own->tokens)) {
      EncodePart(part, own);
      own->cache.Insert(part, own->tokens);
    }
    for (const WordToken& token : own->tokens) {
      // Neighbouring unknown characters are one unknown token.
      if (token.id == unk_id_ && tokens->size() > before && tokens->back().id == unk_id_) {
        tokens->back().length += token.length;
      } else {
        tokens->push_back(token);
      }
    }
  }
  return absl::OkStatus();
}

void SentencePieceBpeModel::EncodePart(absl::string_view part, BpeScratch* scratch) const {
  scratch->pending.clear();
  size_t begin = 0;  // Of the pending characters.
  for (size_t at = 0; at < part.size();) {
    size_t length = 0;
    int32_t id = kNoId;
    user_defined_.ForEachPrefix(part.substr(at), [&](size_t found_length, int32_t found_id) {
      length = found_length;
      id = found_id;
    });
    if (length > 0) {
      scratch->pending_text = part.substr(begin, at - begin);
      MergePending(scratch);
      scratch->tokens.push_back({id, static_cast<int32_t>(length)});
      at += length;
      begin = at;
      continue;
    }
    length = static_cast<size_t>(Utf8Length(part[at]));
    const auto found = character_ids_.find(CodePointAt(part, at));
    scratch->pending.push_back(
        {found == character_ids_.end() ? kNoId : found->second, static_cast<int32_t>(length)});
    at += length;
  }
  scratch->pending_text = part.substr(begin);
  MergePending(scratch);
}

void SentencePieceBpeModel::MergePending(BpeScratch* scratch) const {
  merger_.Merge(&scratch->merger, &scratch->pending);
  size_t at = 0;
  for (const WordToken& symbol : scratch->pending) {
    const auto length = static_cast<size_t>(symbol.length);
    if (symbol.id == kNoId || symbol.id >= vocabulary().size()) {
      AppendUnknown(scratch->pending_text.substr(at, length), &scratch->tokens);
    } else {
      scratch->tokens.push_back(symbol);
    }
    at += length;
  }
  scratch->pending.clear();
}

void SentencePieceBpeModel::AppendUnknown(absl::string_view text,
                                          std::vector<WordToken>* tokens) const {
  if (!byte_fallback_) {
    tokens->push_back({unk_id_, static_cast<int32_t>(text.size())});
    return;
  }
  for (const char byte : text) tokens->push_back({byte_ids_[static_cast<unsigned char>(byte)], 1});
}

}  // namespace phyllo
