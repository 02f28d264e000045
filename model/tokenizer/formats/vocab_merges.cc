#include "model/tokenizer/formats/vocab_merges.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr char kEndOfText[] = "<|endoftext|>";

// transformers, Qwen2Tokenizer.
constexpr char kQwen2Expression[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// The lines of merges.txt as "merges" of tokenizer.json.
absl::StatusOr<nlohmann::json> ReadMerges(absl::string_view contents) {
  nlohmann::json merges = nlohmann::json::array();
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(contents, '\n')) {
    ++number;
    absl::ConsumeSuffix(&line, "\r");
    if (line.empty() || absl::StartsWith(line, "#version")) continue;
    const std::vector<absl::string_view> parts = absl::StrSplit(line, ' ');
    if (parts.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("merges.txt: line ", number, " has ", parts.size(), " parts, must have 2"));
    }
    merges.push_back({std::string(parts[0]), std::string(parts[1])});
  }
  return merges;
}

// Sets "normalizer" and "pre_tokenizer".
absl::Status SetWordComponents(const nlohmann::json& config, nlohmann::json* file) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string name,
                          StringFieldOr(config, "tokenizer_class", "GPT2Tokenizer"));
  absl::string_view family = name;
  absl::ConsumeSuffix(&family, "Fast");
  PHYLLO_ASSIGN_OR_RETURN(const bool prefix, BoolFieldOr(config, "add_prefix_space", false));
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", prefix},
                                     {"use_regex", family == "GPT2Tokenizer"}};
  if (family == "GPT2Tokenizer") {
    (*file)["pre_tokenizer"] = byte_level;
    return absl::OkStatus();
  }
  if (family == "Qwen2Tokenizer") {
    const nlohmann::json split = {
        {"type", "Split"}, {"pattern", {{"Regex", kQwen2Expression}}}, {"behavior", "Isolated"}};
    (*file)["normalizer"] = {{"type", "NFC"}};
    (*file)["pre_tokenizer"] = {{"type", "Sequence"},
                                {"pretokenizers", nlohmann::json::array({split, byte_level})}};
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("vocab.json: tokenizer_class \"", name,
                   "\" is not supported without a "
                   "tokenizer.json (GPT2Tokenizer and Qwen2Tokenizer are)"));
}

// Sets "post_processor" where the settings ask for the bos token.
absl::Status SetPostProcessor(const TokenizerSettings& settings, const Vocabulary& vocabulary,
                              nlohmann::json* file) {
  PHYLLO_ASSIGN_OR_RETURN(const bool add_bos, BoolFieldOr(settings.config, "add_bos_token", false));
  if (!add_bos) return absl::OkStatus();
  PHYLLO_ASSIGN_OR_RETURN(std::string bos, NamedToken(settings, "bos_token"));
  if (bos.empty()) bos = kEndOfText;
  absl::optional<int32_t> id = vocabulary.IdOf(bos);
  for (const nlohmann::json& token : (*file)["added_tokens"]) {
    if (token["content"] == bos) id = token["id"].get<int32_t>();
  }
  if (!id.has_value())
    return absl::InvalidArgumentError("tokenizer_config.json: add_bos_token without a bos_token");
  (*file)["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       nlohmann::json::array({{{"SpecialToken", {{"id", bos}}}}, {{"Sequence", {{"id", "A"}}}}})},
      {"special_tokens", {{bos, {{"ids", nlohmann::json::array({*id})}}}}}};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenizerComponents> MakeVocabMergesTokenizer(const TokenizerFiles& files,
                                                             const TokenizerSettings& settings) {
  nlohmann::json vocab = nlohmann::json::parse(files.vocab_json, nullptr,
                                               /*allow_exceptions=*/false);
  if (!vocab.is_object()) return absl::InvalidArgumentError("vocab.json is not a JSON object");
  Vocabulary vocabulary;
  for (auto entry = vocab.begin(); entry != vocab.end(); ++entry) {
    if (!entry->is_number_integer())
      return absl::InvalidArgumentError("vocab.json: an id is not an integer");
    PHYLLO_RETURN_IF_ERROR(vocabulary.Add(entry.key(), entry->get<int64_t>()));
  }
  nlohmann::json file = nlohmann::json::object();
  PHYLLO_RETURN_IF_ERROR(SetWordComponents(settings.config, &file));
  PHYLLO_ASSIGN_OR_RETURN(file["added_tokens"],
                          ListAddedTokens(settings, vocabulary, {kEndOfText}));
  PHYLLO_RETURN_IF_ERROR(SetPostProcessor(settings, vocabulary, &file));
  file["decoder"] = {{"type", "ByteLevel"}};
  file["model"] = {{"type", "BPE"}, {"vocab", std::move(vocab)}};
  PHYLLO_ASSIGN_OR_RETURN(file["model"]["merges"], ReadMerges(files.merges_txt));
  TokenizerComponents result;
  PHYLLO_ASSIGN_OR_RETURN(result.pipeline, EncodePipeline::FromJson(file, settings.chat_template));
  PHYLLO_ASSIGN_OR_RETURN(result.decoder, TokenDecoder::FromJson(file["decoder"]));
  if (vocabulary.IdOf(kEndOfText).has_value()) {
    result.bos_token = result.eos_token = result.unk_token = kEndOfText;
  }
  return result;
}

}  // namespace phyllo
