#include "model/tokenizer/formats/sentencepiece_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/components/added_tokens.h"
#include "model/tokenizer/components/precompiled_charsmap.h"
#include "model/tokenizer/decoding/sentencepiece_stage.h"
#include "model/tokenizer/sentencepiece/sentencepiece_bpe_model.h"
#include "model/tokenizer/sentencepiece/sentencepiece_normalizer.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/word_models/prefix_trie.h"
#include "model/tokenizer/word_models/unigram_model.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

using PieceType = SentencePieceModel::PieceType;
using ModelType = SentencePieceModel::ModelType;

// OK if the model uses nothing that is not known.
absl::Status CheckSupported(const SentencePieceModel& model) {
  if (model.model_type != ModelType::kBpe && model.model_type != ModelType::kUnigram) {
    return absl::UnimplementedError(
        absl::StrCat("model_type ", static_cast<int>(model.model_type),
                     " is not supported (1, Unigram, and 2, BPE, are)"));
  }
  if (model.treat_whitespace_as_suffix)
    return absl::UnimplementedError("treat_whitespace_as_suffix is not supported");
  if (model.has_denormalizer) return absl::UnimplementedError("denormalizer_spec is not supported");
  return absl::OkStatus();
}

// All pieces, and the id of the unknown one.
absl::StatusOr<Vocabulary> ReadVocabulary(const SentencePieceModel& model, int32_t* unk_id) {
  Vocabulary vocabulary;
  *unk_id = -1;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    const int64_t id = vocabulary.size();
    if (vocabulary.IdOf(piece.piece).has_value())
      return absl::InvalidArgumentError(absl::StrCat("piece ", id, " is there twice"));
    PHYLLO_RETURN_IF_ERROR(vocabulary.Add(piece.piece, id));
    if (piece.type != PieceType::kUnknown) continue;
    if (*unk_id >= 0) return absl::InvalidArgumentError("there are two unknown pieces");
    *unk_id = static_cast<int32_t>(id);
  }
  if (*unk_id < 0) return absl::InvalidArgumentError("there is no unknown piece");
  for (int byte = 0; model.byte_fallback && byte < 256; ++byte) {
    const std::string piece = absl::StrFormat("<0x%02X>", byte);
    const absl::optional<int32_t> id = vocabulary.IdOf(piece);
    if (!id.has_value() || model.pieces[*id].type != PieceType::kByte)
      return absl::InvalidArgumentError(absl::StrCat("byte_fallback without a piece ", piece));
  }
  return vocabulary;
}

PrefixTrie UserDefinedPieces(const SentencePieceModel& model) {
  std::vector<PrefixTrie::Entry> entries;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::kUserDefined)
      entries.push_back({model.pieces[id].piece, static_cast<int32_t>(id)});
  }
  return PrefixTrie(std::move(entries));
}

// unigram_model.cc: the scores of normal pieces as they are, that of a user-defined one so that it
// wins over any pieces that spell the same bytes. Arithmetic is in float where it is there.
std::unique_ptr<WordModel> MakeUnigram(const SentencePieceModel& model, Vocabulary vocabulary,
                                       int32_t unk_id) {
  float min_score = std::numeric_limits<float>::max();
  float max_score = std::numeric_limits<float>::lowest();
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    min_score = std::min(min_score, piece.score);
    max_score = std::max(max_score, piece.score);
  }
  std::vector<UnigramModel::Candidate> candidates;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const SentencePieceModel::Piece& piece = model.pieces[i];
    const auto id = static_cast<int32_t>(i);
    if (piece.type == PieceType::kNormal) candidates.push_back({id, piece.score});
    if (piece.type == PieceType::kUserDefined) {
      candidates.push_back({id, static_cast<float>(piece.piece.size()) * max_score - 0.1});
    }
  }
  UnigramModel::Options options;
  options.unk_id = unk_id;
  options.unk_score = min_score - static_cast<float>(UnigramModel::kUnknownPenalty);
  options.byte_fallback = model.byte_fallback;
  options.as_sentencepiece = true;
  return absl::make_unique<UnigramModel>(std::move(vocabulary), options, candidates);
}

// The piece `name`, if it is a control piece.
absl::optional<int32_t> ControlId(const SentencePieceModel& model, const Vocabulary& vocabulary,
                                  absl::string_view name) {
  const absl::optional<int32_t> id = vocabulary.IdOf(name);
  const bool control = id.has_value() && model.pieces[*id].type == PieceType::kControl;
  return control ? id : absl::nullopt;
}

absl::StatusOr<PostProcessor> MakeSentencePostProcessor(const SentencePieceModel& model,
                                                        const Vocabulary& vocabulary,
                                                        const TokenizerSettings& settings) {
  const auto id_of = [&](const char* key,
                         absl::string_view piece) -> absl::StatusOr<absl::optional<int32_t>> {
    PHYLLO_ASSIGN_OR_RETURN(const std::string named, NamedToken(settings, key));
    return named.empty() ? ControlId(model, vocabulary, piece) : vocabulary.IdOf(named);
  };
  PHYLLO_ASSIGN_OR_RETURN(const bool add_bos, BoolFieldOr(settings.config, "add_bos_token", true));
  PHYLLO_ASSIGN_OR_RETURN(const bool add_eos, BoolFieldOr(settings.config, "add_eos_token", false));
  PHYLLO_ASSIGN_OR_RETURN(const absl::optional<int32_t> bos, id_of("bos_token", model.bos_piece));
  PHYLLO_ASSIGN_OR_RETURN(const absl::optional<int32_t> eos, id_of("eos_token", model.eos_piece));
  PostProcessor result;
  if (add_bos && bos.has_value()) result.prefix.push_back(*bos);
  if (add_eos && eos.has_value()) result.suffix.push_back(*eos);
  return result;
}

absl::StatusOr<AddedTokens> MakeAddedTokens(const SentencePieceModel& model,
                                            const Vocabulary& vocabulary, int32_t unk_id,
                                            const TokenizerSettings& settings,
                                            const Normalizer* normalizer) {
  std::vector<std::string> control;
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type == PieceType::kControl) control.push_back(piece.piece);
  }
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json named, ListAddedTokens(settings, vocabulary, {}));
  nlohmann::json list = nlohmann::json::array();
  for (const nlohmann::json& token : named) {
    if (token["id"] == unk_id) continue;
    control.erase(std::remove(control.begin(), control.end(), token["content"]), control.end());
    list.push_back(token);
  }
  for (const std::string& piece : control) {
    list.push_back({{"id", *vocabulary.IdOf(piece)},
                    {"content", piece},
                    {"special", true},
                    {"normalized", false}});
  }
  return AddedTokens::FromJson(list, normalizer, settings.chat_template);
}

absl::StatusOr<std::unique_ptr<Normalizer>> MakeSentenceNormalizer(
    const SentencePieceModel& model, const TokenizerSettings& settings) {
  PrecompiledCharsmap charsmap;
  if (!model.precompiled_charsmap.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(charsmap, PrecompiledCharsmap::Parse(model.precompiled_charsmap));
  }
  PHYLLO_ASSIGN_OR_RETURN(const bool legacy, BoolFieldOr(settings.config, "legacy", true));
  SentencePieceNormalizer::Options options;
  options.add_dummy_prefix = model.add_dummy_prefix;
  options.prefix_only_first = !legacy;
  options.remove_extra_whitespaces = model.remove_extra_whitespaces;
  options.escape_whitespaces = model.escape_whitespaces;
  return absl::make_unique<SentencePieceNormalizer>(options, std::move(charsmap),
                                                    UserDefinedPieces(model));
}

std::unique_ptr<TokenDecoder> MakeDecoder(const SentencePieceModel& model, int32_t unk_id) {
  SentencePieceDecoding decoding;
  decoding.unk_piece = model.pieces[unk_id].piece;
  decoding.unk_surface = model.unk_surface;
  decoding.drop_first_mark = model.add_dummy_prefix || model.remove_extra_whitespaces;
  decoding.drop_all_first_marks = model.remove_extra_whitespaces;
  decoding.byte_fallback = model.byte_fallback;
  return TokenDecoder::ForSentencePiece(std::move(decoding));
}

}  // namespace

absl::StatusOr<TokenizerComponents> MakeSentencePieceTokenizer(const SentencePieceModel& model,
                                                               const TokenizerSettings& settings) {
  PHYLLO_RETURN_IF_ERROR(CheckSupported(model));
  int32_t unk_id = 0;
  PHYLLO_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(model, &unk_id));
  TokenizerComponents result;
  result.unk_token = model.pieces[unk_id].piece;
  if (ControlId(model, vocabulary, model.bos_piece)) result.bos_token = model.bos_piece;
  if (ControlId(model, vocabulary, model.eos_piece)) result.eos_token = model.eos_piece;
  if (ControlId(model, vocabulary, model.pad_piece)) result.pad_token = model.pad_piece;
  result.decoder = MakeDecoder(model, unk_id);
  EncodeComponents encode;
  PHYLLO_ASSIGN_OR_RETURN(encode.normalizer, MakeSentenceNormalizer(model, settings));
  PHYLLO_ASSIGN_OR_RETURN(AddedTokens added, MakeAddedTokens(model, vocabulary, unk_id, settings,
                                                             encode.normalizer.get()));
  encode.added_tokens = absl::make_unique<AddedTokens>(std::move(added));
  PHYLLO_ASSIGN_OR_RETURN(encode.post_processor,
                          MakeSentencePostProcessor(model, vocabulary, settings));
  if (model.model_type == ModelType::kBpe) {
    PHYLLO_ASSIGN_OR_RETURN(
        encode.model,
        SentencePieceBpeModel::Create(model, std::move(vocabulary), UserDefinedPieces(model)));
  } else {
    encode.model = MakeUnigram(model, std::move(vocabulary), unk_id);
  }
  result.pipeline = absl::make_unique<EncodePipeline>(std::move(encode));
  return result;
}

}  // namespace phyllo
