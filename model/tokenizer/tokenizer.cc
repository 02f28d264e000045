#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/decoding/token_decoder.h"
#include "model/tokenizer/encode_pipeline.h"
#include "model/tokenizer/formats/sentencepiece_tokenizer.h"
#include "model/tokenizer/formats/tiktoken_file.h"
#include "model/tokenizer/formats/tokenizer_components.h"
#include "model/tokenizer/formats/tokenizer_settings.h"
#include "model/tokenizer/formats/vocab_merges.h"
#include "model/tokenizer/sentencepiece/sentencepiece_model.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {

struct TokenizerParts {
  std::unique_ptr<EncodePipeline> pipeline;
  std::unique_ptr<TokenDecoder> decoder;
  TokenizerConfig config;
  std::string digest;
  int64_t vocab_size = 0;
};

namespace {

constexpr int64_t kMaxTextBytes = int64_t{1}
                                  << 30;  // Lengths of tokens and positions of symbols are 32 bits.

absl::StatusOr<TokenizerComponents> FromTokenizerJson(absl::string_view text,
                                                      const TokenizerSettings& settings) {
  const nlohmann::json file =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) return absl::InvalidArgumentError("tokenizer.json is not valid JSON");
  TokenizerComponents result;
  PHYLLO_ASSIGN_OR_RETURN(result.pipeline, EncodePipeline::FromJson(file, settings.chat_template));
  const nlohmann::json* decoder = FindField(file, "decoder");
  PHYLLO_ASSIGN_OR_RETURN(result.decoder,
                          TokenDecoder::FromJson(decoder == nullptr ? nlohmann::json() : *decoder));
  return result;
}

absl::StatusOr<TokenizerComponents> FromSentencePiece(absl::string_view bytes,
                                                      const TokenizerSettings& settings) {
  const auto read = [&]() -> absl::StatusOr<TokenizerComponents> {
    PHYLLO_ASSIGN_OR_RETURN(const SentencePieceModel model, ParseSentencePieceModel(bytes));
    return MakeSentencePieceTokenizer(model, settings);
  };
  absl::StatusOr<TokenizerComponents> result = read();
  if (result.ok()) return result;
  return absl::Status(result.status().code(),
                      absl::StrCat("tokenizer.model: ", result.status().message()));
}

// From the first file that is there; `digest` becomes its digest.
absl::StatusOr<TokenizerComponents> MakeComponents(const TokenizerFiles& files,
                                                   const TokenizerSettings& settings,
                                                   std::string* digest) {
  if (!files.tokenizer_json.empty()) {
    *digest = Sha256Hex(files.tokenizer_json);
    return FromTokenizerJson(files.tokenizer_json, settings);
  }
  if (!files.sentencepiece_model.empty()) {
    *digest = Sha256Hex(files.sentencepiece_model);
    return FromSentencePiece(files.sentencepiece_model, settings);
  }
  if (!files.vocab_json.empty() && !files.merges_txt.empty()) {
    *digest = Sha256Hex(absl::StrCat(files.vocab_json, files.merges_txt));
    return MakeVocabMergesTokenizer(files, settings);
  }
  if (!files.tiktoken.empty()) {
    *digest = Sha256Hex(absl::StrCat(files.tiktoken, files.tiktoken_spec));
    return MakeTiktokenTokenizer(files, settings);
  }
  return absl::NotFoundError("no file says what the tokens are");
}

// What `settings` says, else the format.
absl::StatusOr<TokenizerConfig> ReadConfig(const TokenizerSettings& settings,
                                           const TokenizerComponents& components) {
  struct Token {
    const char* key;
    const std::string& from_format;
    std::string TokenizerConfig::*member;
  };
  const Token tokens[] = {{"bos_token", components.bos_token, &TokenizerConfig::bos_token},
                          {"eos_token", components.eos_token, &TokenizerConfig::eos_token},
                          {"unk_token", components.unk_token, &TokenizerConfig::unk_token},
                          {"pad_token", components.pad_token, &TokenizerConfig::pad_token}};
  TokenizerConfig config;
  for (const Token& token : tokens) {
    PHYLLO_ASSIGN_OR_RETURN(config.*token.member, NamedToken(settings, token.key));
    if ((config.*token.member).empty()) config.*token.member = token.from_format;
  }
  config.chat_template = settings.chat_template;
  config.chat_template_digest = Sha256Hex(settings.chat_template);
  return config;
}

// OK if the ranges are ascending, disjoint and within `size` bytes.
absl::Status CheckRanges(absl::Span<const LiteralRange> ranges, int64_t size) {
  int64_t end = 0;
  for (const LiteralRange& range : ranges) {
    if (range.bytes.begin < end || range.bytes.end < range.bytes.begin || range.bytes.end > size) {
      return absl::InvalidArgumentError(
          absl::StrCat("literal range [", range.bytes.begin, ", ", range.bytes.end,
                       ") is out of order or outside of the ", size, " bytes of text"));
    }
    end = range.bytes.end;
  }
  return absl::OkStatus();
}

absl::Status CheckText(absl::string_view text) {
  if (static_cast<int64_t>(text.size()) > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the text has ", text.size(), " bytes, more than the limit of ", kMaxTextBytes));
  }
  const int64_t invalid = FindInvalidUtf8(text);
  if (invalid < 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the text is not valid UTF-8 at byte ", invalid));
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<TokenizerParts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& directory) {
  PHYLLO_ASSIGN_OR_RETURN(const TokenizerFiles files, ReadTokenizerFiles(directory));
  return FromFiles(files);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(
    absl::string_view tokenizer_json, absl::string_view tokenizer_config_json,
    absl::string_view chat_template) {
  if (tokenizer_json.empty()) return absl::InvalidArgumentError("tokenizer.json is empty");
  TokenizerFiles files;
  files.tokenizer_json = std::string(tokenizer_json);
  files.tokenizer_config_json = std::string(tokenizer_config_json);
  files.chat_template = std::string(chat_template);
  return FromFiles(files);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromFiles(const TokenizerFiles& files) {
  auto parts = absl::make_unique<TokenizerParts>();
  PHYLLO_ASSIGN_OR_RETURN(const TokenizerSettings settings, ParseTokenizerSettings(files));
  PHYLLO_ASSIGN_OR_RETURN(TokenizerComponents components,
                          MakeComponents(files, settings, &parts->digest));
  PHYLLO_ASSIGN_OR_RETURN(parts->config, ReadConfig(settings, components));
  parts->pipeline = std::move(components.pipeline);
  parts->decoder = std::move(components.decoder);
  parts->vocab_size = parts->pipeline->vocabulary().size();
  for (const AddedToken& token : parts->pipeline->added_tokens().tokens()) {
    parts->vocab_size = std::max<int64_t>(parts->vocab_size, int64_t{token.id} + 1);
  }
  auto tokenizer = absl::WrapUnique(new Tokenizer(std::move(parts)));
  TokenizerConfig& config = tokenizer->parts_->config;
  config.bos_token_id = tokenizer->IdOf(config.bos_token);
  config.eos_token_id = tokenizer->IdOf(config.eos_token);
  config.unk_token_id = tokenizer->IdOf(config.unk_token);
  config.pad_token_id = tokenizer->IdOf(config.pad_token);
  return tokenizer;
}

absl::StatusOr<Encoding> Tokenizer::Encode(absl::string_view text,
                                           const EncodeOptions& options) const {
  PHYLLO_RETURN_IF_ERROR(CheckText(text));
  return parts_->pipeline->Encode(text, {}, options);
}

absl::StatusOr<Encoding> Tokenizer::EncodeWithLiteralRanges(
    absl::string_view text, absl::Span<const LiteralRange> literal_ranges,
    const EncodeOptions& options) const {
  PHYLLO_RETURN_IF_ERROR(CheckText(text));
  PHYLLO_RETURN_IF_ERROR(CheckRanges(literal_ranges, static_cast<int64_t>(text.size())));
  EncodeOptions with_special = options;
  with_special.parse_special_tokens = true;
  return parts_->pipeline->Encode(text, literal_ranges, with_special);
}

std::string Tokenizer::Decode(absl::Span<const int32_t> ids, bool skip_special_tokens) const {
  std::string text;
  DecodeStream stream(*parts_->decoder, std::numeric_limits<int64_t>::max());
  for (const int32_t id : ids) {
    const AddedToken* added = parts_->pipeline->added_tokens().Find(id);
    if (added != nullptr && added->special && skip_special_tokens) continue;
    const absl::optional<absl::string_view> token =
        added != nullptr ? absl::string_view(added->content)
                         : parts_->pipeline->vocabulary().TokenOf(id);
    if (token.has_value()) stream.Push(*token, /*from_prompt=*/false, &text);
  }
  stream.Finish(&text);
  return text;
}

absl::optional<TokenInfo> Tokenizer::FindToken(int32_t id) const {
  TokenInfo info;
  if (const AddedToken* added = parts_->pipeline->added_tokens().Find(id)) {
    info.token = added->content;
    info.special = added->special;
    info.control = added->control;
    info.added = true;
  } else {
    const absl::optional<absl::string_view> token = parts_->pipeline->vocabulary().TokenOf(id);
    if (!token.has_value()) return absl::nullopt;
    info.token = *token;
  }
  info.bytes = parts_->decoder->TokenBytes(info.token);
  return info;
}

absl::optional<int32_t> Tokenizer::IdOf(absl::string_view token) const {
  const absl::optional<int32_t> added = parts_->pipeline->added_tokens().IdOf(token);
  return added.has_value() ? added : parts_->pipeline->vocabulary().IdOf(token);
}

int64_t Tokenizer::vocab_size() const { return parts_->vocab_size; }
const TokenizerConfig& Tokenizer::config() const { return parts_->config; }
const std::string& Tokenizer::digest() const { return parts_->digest; }
const TokenDecoder& Tokenizer::decoder() const { return *parts_->decoder; }

}  // namespace phyllo
