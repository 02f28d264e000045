#include "model/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/gguf.h"
#include "model/gguf/score_merges.h"
#include "model/tokenizer/text/unicode.h"

namespace phyllo {
namespace {

using Json = nlohmann::json;

// tokenizer.ggml.token_type.
enum TokenType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

// The words of cl100k and its relatives; they differ in how many digits make one.
#define PHYLLO_CL100K_WORDS(DIGITS)                                          \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" DIGITS \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

constexpr absl::string_view kLlama3Words = PHYLLO_CL100K_WORDS("{1,3}");
constexpr absl::string_view kQwen2Words = PHYLLO_CL100K_WORDS("");
#undef PHYLLO_CL100K_WORDS

constexpr absl::string_view kTekkenWords =
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|"
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|"
    "\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

// A value of tokenizer.ggml.pre.
struct PreTokenizer {
  absl::string_view name;
  absl::string_view words = "";  // the expression; empty = GPT-2's own
  bool digits = false;           // each digit is a word
  bool nfc = false;
  bool ignore_merges = false;  // a word that is a token is that token
  bool add_bos = false;        // if the file does not say
};

constexpr PreTokenizer kPreTokenizers[] = {
    {.name = "command-r", .digits = true},
    {.name = "dbrx", .words = kLlama3Words},
    {.name = "deepseek-r1-qwen", .words = kQwen2Words, .nfc = true},
    {.name = "default"},
    {.name = "gpt-2"},
    {.name = "llama-bpe", .words = kLlama3Words, .ignore_merges = true, .add_bos = true},
    {.name = "llama-v3", .words = kLlama3Words, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .words = kLlama3Words, .ignore_merges = true, .add_bos = true},
    {.name = "olmo"},
    {.name = "phi-2"},
    {.name = "qwen2", .words = kQwen2Words, .nfc = true},
    {.name = "refact", .digits = true},
    {.name = "smaug-bpe", .words = kLlama3Words},
    {.name = "smollm", .digits = true},
    {.name = "starcoder", .digits = true},
    {.name = "tekken", .words = kTekkenWords, .ignore_merges = true, .add_bos = true},
};

std::string Key(absl::string_view name) { return absl::StrCat("tokenizer.ggml.", name); }

absl::Status Fault(absl::string_view name, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(Key(name), " ", message));
}

absl::string_view Text(const GgufContents& contents, absl::string_view name) {
  const GgufValue* const value = contents.Find(Key(name));
  return value == nullptr ? "" : value->text;
}

bool Flag(const GgufContents& contents, absl::string_view name, bool absent) {
  const GgufValue* const value = contents.Find(Key(name));
  return value == nullptr || value->type != GgufType::kBool ? absent : value->boolean;
}

// The array of strings of that name, checked for UTF-8.
absl::StatusOr<absl::Span<const absl::string_view>> Texts(const GgufContents& contents,
                                                          absl::string_view name) {
  const GgufValue* const value = contents.Find(Key(name));
  if (value == nullptr || value->type != GgufType::kArray ||
      value->element_type != GgufType::kString)
    return Fault(name, "is missing or no array of strings");
  for (size_t i = 0; i < value->texts.size(); ++i) {
    if (FindInvalidUtf8(value->texts[i]) >= 0)
      return Fault(name, absl::StrCat("[", i, "] is not valid UTF-8"));
  }
  return absl::MakeConstSpan(value->texts);
}

// What both kinds of tokenizer have.
struct Vocabulary {
  absl::Span<const absl::string_view> tokens;
  std::vector<int64_t> types;  // of each token
};

absl::StatusOr<Vocabulary> ReadVocabulary(const GgufContents& contents) {
  Vocabulary vocabulary;
  PHYLLO_ASSIGN_OR_RETURN(vocabulary.tokens, Texts(contents, "tokens"));
  const GgufValue* const types = contents.Find(Key("token_type"));
  if (types == nullptr) {
    vocabulary.types.assign(vocabulary.tokens.size(), kNormal);
  } else {
    vocabulary.types = types->integers;
  }
  if (vocabulary.types.size() != vocabulary.tokens.size()) {
    return Fault("token_type", absl::StrCat("has ", vocabulary.types.size(), " integers for ",
                                            vocabulary.tokens.size(), " tokens"));
  }
  return vocabulary;
}

// The id of that name, if the file has one.
absl::StatusOr<std::optional<int64_t>> TokenId(const GgufContents& contents, absl::string_view name,
                                               size_t vocab_size) {
  const GgufValue* const value = contents.Find(Key(name));
  if (value == nullptr) return std::optional<int64_t>();
  if (value->integer < 0 || value->integer >= static_cast<int64_t>(vocab_size)) {
    return Fault(
        name, absl::StrCat("is ", value->integer, ", outside of the vocabulary of ", vocab_size));
  }
  return std::optional<int64_t>(value->integer);
}

Json AddedTokensJson(const Vocabulary& vocabulary) {
  Json added = Json::array();
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const int64_t type = vocabulary.types[i];
    if (type != kControl && type != kUserDefined && type != kUnknown) continue;
    if (vocabulary.tokens[i].empty()) continue;
    added.push_back({{"id", i},
                     {"content", std::string(vocabulary.tokens[i])},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", type != kUserDefined}});
  }
  return added;
}

// What the model itself can make: all but added and unused tokens. Of equal ones the first.
Json VocabJson(const Vocabulary& vocabulary, bool with_added) {
  Json vocab = Json::object();
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const int64_t type = vocabulary.types[i];
    const bool added = type == kControl || type == kUserDefined;
    if (type == kUnused || (added && !with_added)) continue;
    vocab.emplace(std::string(vocabulary.tokens[i]), i);
  }
  return vocab;
}

// bos before and eos behind every text, as the file wants.
absl::StatusOr<Json> PostProcessorJson(const GgufContents& contents, const Vocabulary& vocabulary,
                                       bool add_bos) {
  Json single = Json::array();
  Json special_tokens = Json::object();
  const auto add = [&](absl::string_view id_name) -> absl::Status {
    PHYLLO_ASSIGN_OR_RETURN(const std::optional<int64_t> id,
                            TokenId(contents, id_name, vocabulary.tokens.size()));
    if (!id.has_value()) return absl::OkStatus();
    const std::string token(vocabulary.tokens[*id]);
    single.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
    special_tokens[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
    return absl::OkStatus();
  };
  if (Flag(contents, "add_bos_token", add_bos)) PHYLLO_RETURN_IF_ERROR(add("bos_token_id"));
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (Flag(contents, "add_eos_token", false)) PHYLLO_RETURN_IF_ERROR(add("eos_token_id"));
  return Json{{"type", "TemplateProcessing"},
              {"single", std::move(single)},
              {"special_tokens", std::move(special_tokens)}};
}

Json ByteLevelJson(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", use_regex}};
}

Json PreTokenizerJson(const PreTokenizer& pre) {
  if (pre.digits) {
    return {{"type", "Sequence"},
            {"pretokenizers",
             {{{"type", "Digits"}, {"individual_digits", true}}, ByteLevelJson(true)}}};
  }
  if (pre.words.empty()) return ByteLevelJson(true);
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", std::string(pre.words)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, ByteLevelJson(false)}}};
}

absl::StatusOr<Json> ByteLevelTokenizer(const GgufContents& contents,
                                        const Vocabulary& vocabulary) {
  const absl::string_view name =
      contents.Find(Key("pre")) == nullptr ? "default" : Text(contents, "pre");
  const PreTokenizer* pre = nullptr;
  for (const PreTokenizer& known : kPreTokenizers) {
    if (known.name == name) pre = &known;
  }
  if (pre == nullptr) {
    return absl::UnimplementedError(absl::StrCat(Key("pre"), " \"", name, "\" is not supported"));
  }
  PHYLLO_ASSIGN_OR_RETURN(const auto merges, Texts(contents, "merges"));
  Json merge_list = Json::array();
  for (const absl::string_view merge : merges) merge_list.push_back(std::string(merge));
  Json tokenizer;
  if (pre->nfc) tokenizer["normalizer"] = {{"type", "NFC"}};
  tokenizer["pre_tokenizer"] = PreTokenizerJson(*pre);
  PHYLLO_ASSIGN_OR_RETURN(tokenizer["post_processor"],
                          PostProcessorJson(contents, vocabulary, pre->add_bos));
  tokenizer["decoder"] = ByteLevelJson(true);
  tokenizer["model"] = {{"type", "BPE"},
                        {"ignore_merges", pre->ignore_merges},
                        {"vocab", VocabJson(vocabulary, /*with_added=*/false)},
                        {"merges", std::move(merge_list)}};
  return tokenizer;
}

// SentencePiece's normalizer and its inverse: spaces become U+2581, one is put before the text.
void AddSpaceStages(bool add_space_prefix, Json& tokenizer) {
  constexpr char kMark[] = "\xE2\x96\x81";
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kMark}};
  Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", kMark}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}};
  tokenizer["normalizer"] = replace;
  if (add_space_prefix) {
    tokenizer["normalizer"] = {
        {"type", "Sequence"},
        {"normalizers", {{{"type", "Prepend"}, {"prepend", kMark}}, replace}}};
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  tokenizer["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
}

absl::StatusOr<Json> SentencePieceTokenizer(const GgufContents& contents,
                                            const Vocabulary& vocabulary) {
  const GgufValue* const scores = contents.Find(Key("scores"));
  if (scores == nullptr || scores->numbers.size() != vocabulary.tokens.size())
    return Fault("scores", "is missing or has not one number for each token");
  std::vector<ScoredPiece> pieces;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] == kNormal)
      pieces.push_back({vocabulary.tokens[i], scores->numbers[i], static_cast<int64_t>(i)});
  }
  Json merges = Json::array();
  for (const auto& [left, right] : MergesByScore(pieces))
    merges.push_back({std::string(left), std::string(right)});
  Json tokenizer;
  AddSpaceStages(Flag(contents, "add_space_prefix", true), tokenizer);
  PHYLLO_ASSIGN_OR_RETURN(tokenizer["post_processor"],
                          PostProcessorJson(contents, vocabulary, /*add_bos=*/true));
  PHYLLO_ASSIGN_OR_RETURN(const std::optional<int64_t> unknown,
                          TokenId(contents, "unknown_token_id", vocabulary.tokens.size()));
  Json& model = tokenizer["model"];
  model = {{"type", "BPE"},
           {"fuse_unk", true},
           {"byte_fallback", true},
           {"vocab", VocabJson(vocabulary, /*with_added=*/true)},
           {"merges", std::move(merges)}};
  if (unknown.has_value() && vocabulary.types[*unknown] != kUnused)
    model["unk_token"] = std::string(vocabulary.tokens[*unknown]);
  return tokenizer;
}

}  // namespace

absl::StatusOr<std::string> GgufTokenizerJson(const GgufContents& contents) {
  const absl::string_view model = Text(contents, "model");
  if (model.empty() || model == "none" || model == "no_vocab")
    return absl::NotFoundError("the GGUF file has no tokenizer");
  if (model != "gpt2" && model != "llama") {
    return absl::UnimplementedError(
        absl::StrCat(Key("model"), " \"", model, "\" is not supported; supported: gpt2, llama"));
  }
  PHYLLO_ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(contents));
  PHYLLO_ASSIGN_OR_RETURN(Json tokenizer, model == "gpt2"
                                              ? ByteLevelTokenizer(contents, vocabulary)
                                              : SentencePieceTokenizer(contents, vocabulary));
  tokenizer["version"] = "1.0";
  tokenizer["added_tokens"] = AddedTokensJson(vocabulary);
  return tokenizer.dump();
}

absl::StatusOr<std::string> GgufTokenizerConfigJson(const GgufContents& contents) {
  struct NamedId {
    const char* key;
    absl::string_view id;
  };
  constexpr NamedId kTokens[] = {{"bos_token", "bos_token_id"},
                                 {"eos_token", "eos_token_id"},
                                 {"unk_token", "unknown_token_id"},
                                 {"pad_token", "padding_token_id"}};
  Json config = Json::object();
  PHYLLO_ASSIGN_OR_RETURN(const auto tokens, Texts(contents, "tokens"));
  for (const NamedId& token : kTokens) {
    PHYLLO_ASSIGN_OR_RETURN(const std::optional<int64_t> id,
                            TokenId(contents, token.id, tokens.size()));
    if (id.has_value()) config[token.key] = std::string(tokens[*id]);
  }
  const GgufValue* const chat_template = contents.Find("tokenizer.chat_template");
  if (chat_template != nullptr && chat_template->type == GgufType::kString) {
    if (FindInvalidUtf8(chat_template->text) >= 0)
      return absl::InvalidArgumentError("tokenizer.chat_template is not valid UTF-8");
    config["chat_template"] = std::string(chat_template->text);
  }
  return config.dump();
}

}  // namespace phyllo
