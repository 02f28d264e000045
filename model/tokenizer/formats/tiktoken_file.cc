// tiktoken has no list of merges: two neighbours are merged if together they are a token, the one
// of lowest rank first, and its rank is its id. So the merges are all tokens, cut in two wherever
// both parts are tokens.
#include "model/tokenizer/formats/tiktoken_file.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/components/added_tokens.h"
#include "model/tokenizer/components/pre_tokenizer.h"
#include "model/tokenizer/text/byte_level.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/text_pattern.h"
#include "model/tokenizer/word_models/bpe_merger.h"
#include "model/tokenizer/word_models/bpe_model.h"
#include "model/tokenizer/word_models/vocabulary.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

// Of a longer token all ways to cut it would be too many.
constexpr size_t kMaxTokenBytes = 1024;

// tiktoken_ext/openai_public.py.
constexpr char kCl100kBase[] = R"json({
  "pat_str": "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
  "special_tokens": {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259,
                     "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}})json";
constexpr char kO200kBase[] = R"json({
  "pat_str": "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  "special_tokens": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}})json";

absl::StatusOr<nlohmann::json> ReadSpec(const TokenizerFiles& files) {
  absl::string_view text = files.tiktoken_spec;
  if (text.empty() && files.tiktoken_name == "cl100k_base") text = kCl100kBase;
  if (text.empty() && files.tiktoken_name == "o200k_base") text = kO200kBase;
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "the file does not say how words are cut; put spec.json with \"pat_str\" and "
        "\"special_tokens\" beside it");
  }
  nlohmann::json spec =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!spec.is_object()) return absl::InvalidArgumentError("spec.json is not a JSON object");
  return spec;
}

using Ranks = absl::flat_hash_map<std::string, int32_t>;

// Reads the lines "base64 rank" into both tables.
absl::Status ReadRanks(absl::string_view contents, Ranks* ranks, Vocabulary* vocabulary) {
  int64_t number = 0;
  for (const absl::string_view line : absl::StrSplit(contents, '\n')) {
    ++number;
    if (line.empty()) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    std::string token;
    int64_t rank = 0;
    if (!absl::Base64Unescape(parts.first, &token) || token.empty() ||
        !absl::SimpleAtoi(parts.second, &rank)) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, " is not \"base64 rank\""));
    }
    if (token.size() > kMaxTokenBytes) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": a token of ", token.size(),
                                                     " bytes, more than the limit of ",
                                                     kMaxTokenBytes));
    }
    PHYLLO_RETURN_IF_ERROR(vocabulary->Add(BytesToByteLevel(token), rank));
    if (!ranks->emplace(std::move(token), static_cast<int32_t>(rank)).second)
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": the token is there twice"));
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (!ranks->contains(std::string(1, static_cast<char>(byte))))
      return absl::InvalidArgumentError(absl::StrCat("byte ", byte, " is no token"));
  }
  return absl::OkStatus();
}

BpeMerger MakeMerges(const Ranks& ranks) {
  BpeMerger merger;
  for (const auto& [token, rank] : ranks) {
    const absl::string_view text = token;
    for (size_t at = 1; at < text.size(); ++at) {
      const auto left = ranks.find(text.substr(0, at));
      if (left == ranks.end()) continue;
      const auto right = ranks.find(text.substr(at));
      if (right == ranks.end()) continue;
      merger.Add(left->second, right->second, static_cast<uint32_t>(rank), rank);
    }
  }
  return merger;
}

absl::StatusOr<AddedTokens> MakeAddedTokens(const nlohmann::json& spec,
                                            const TokenizerSettings& settings,
                                            const Vocabulary& vocabulary) {
  PHYLLO_ASSIGN_OR_RETURN(nlohmann::json list, ListAddedTokens(settings, vocabulary, {}));
  const nlohmann::json* special = FindField(spec, "special_tokens");
  if (special != nullptr && !special->is_object())
    return absl::InvalidArgumentError("spec.json: field \"special_tokens\" must be an object");
  if (special != nullptr) {
    for (auto token = special->begin(); token != special->end(); ++token) {
      list.push_back(
          {{"id", *token}, {"content", token.key()}, {"special", true}, {"normalized", false}});
    }
  }
  return AddedTokens::FromJson(list, /*normalizer=*/nullptr, settings.chat_template);
}

absl::StatusOr<TokenizerComponents> Make(const TokenizerFiles& files,
                                         const TokenizerSettings& settings) {
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json spec, ReadSpec(files));
  PHYLLO_ASSIGN_OR_RETURN(const std::string pattern, StringField(spec, "pat_str"));
  PHYLLO_ASSIGN_OR_RETURN(TextPattern words, TextPattern::FromRegex(pattern, RegexSyntax::kRust));
  Ranks ranks;
  Vocabulary vocabulary;
  PHYLLO_RETURN_IF_ERROR(ReadRanks(files.tiktoken, &ranks, &vocabulary));
  PHYLLO_ASSIGN_OR_RETURN(AddedTokens added, MakeAddedTokens(spec, settings, vocabulary));
  EncodeComponents encode;
  encode.added_tokens = absl::make_unique<AddedTokens>(std::move(added));
  encode.pre_tokenizer = MakeMatchPreTokenizer(std::move(words));
  BpeOptions options;
  options.byte_level = true;
  options.ignore_merges = true;  // A word that is a token is not taken apart.
  encode.model =
      absl::make_unique<BpeModel>(std::move(vocabulary), std::move(options), MakeMerges(ranks));
  TokenizerComponents result;
  result.pipeline = absl::make_unique<EncodePipeline>(std::move(encode));
  PHYLLO_ASSIGN_OR_RETURN(result.decoder, TokenDecoder::FromJson({{"type", "ByteLevel"}}));
  return result;
}

}  // namespace

absl::StatusOr<TokenizerComponents> MakeTiktokenTokenizer(const TokenizerFiles& files,
                                                          const TokenizerSettings& settings) {
  absl::StatusOr<TokenizerComponents> result = Make(files, settings);
  if (result.ok()) return result;
  return absl::Status(result.status().code(),
                      absl::StrCat(files.tiktoken_name, ".tiktoken: ", result.status().message()));
}

}  // namespace phyllo
