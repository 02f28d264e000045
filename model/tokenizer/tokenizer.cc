#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/digest.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/decoding/token_decoder.h"
#include "model/tokenizer/encode_pipeline.h"
#include "model/tokenizer/text/json_fields.h"
#include "model/tokenizer/text/unicode.h"
#include "nlohmann/json.hpp"

namespace phyllo {

struct TokenizerParts {
  std::unique_ptr<EncodePipeline> pipeline;
  std::unique_ptr<TokenDecoder> decoder;
  TokenizerConfig config;
  std::string digest;
  std::string chat_template_digest;
  int64_t vocab_size = 0;
};

namespace {

constexpr int64_t kMaxTextBytes = int64_t{1}
                                  << 30;  // Lengths of tokens and positions of symbols are 32 bits.

// The contents of `path`; NOT_FOUND if it cannot be opened.
absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("cannot open ", path));
  std::string contents{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) return absl::DataLossError(absl::StrCat("cannot read ", path));
  return contents;
}

absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view name) {
  nlohmann::json value =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded())
    return absl::InvalidArgumentError(absl::StrCat(name, " is not valid JSON"));
  return value;
}

// A token of tokenizer_config.json: a string, or an object with its "content".
absl::StatusOr<std::string> ConfiguredToken(const nlohmann::json& config, const char* key) {
  const nlohmann::json* value = FindField(config, key);
  if (value != nullptr && value->is_object()) return StringField(*value, "content");
  return StringFieldOr(config, key, "");
}

// The template of tokenizer_config.json: a string, or a list of {name, template}, of which
// "default" is taken.
absl::StatusOr<std::string> ConfiguredTemplate(const nlohmann::json& config) {
  const nlohmann::json* value = FindField(config, "chat_template");
  if (value == nullptr || !value->is_array()) return StringFieldOr(config, "chat_template", "");
  for (const nlohmann::json& entry : *value) {
    PHYLLO_ASSIGN_OR_RETURN(const std::string name, StringField(entry, "name"));
    if (name == "default") return StringField(entry, "template");
  }
  return std::string();
}

absl::StatusOr<TokenizerConfig> ReadConfig(absl::string_view json,
                                           absl::string_view chat_template) {
  TokenizerConfig config;
  if (!json.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json file, ParseJson(json, "tokenizer_config.json"));
    if (!file.is_object())
      return absl::InvalidArgumentError("tokenizer_config.json is not a JSON object");
    PHYLLO_ASSIGN_OR_RETURN(config.bos_token, ConfiguredToken(file, "bos_token"));
    PHYLLO_ASSIGN_OR_RETURN(config.eos_token, ConfiguredToken(file, "eos_token"));
    PHYLLO_ASSIGN_OR_RETURN(config.unk_token, ConfiguredToken(file, "unk_token"));
    PHYLLO_ASSIGN_OR_RETURN(config.pad_token, ConfiguredToken(file, "pad_token"));
    PHYLLO_ASSIGN_OR_RETURN(config.chat_template, ConfiguredTemplate(file));
  }
  if (!chat_template.empty()) config.chat_template = std::string(chat_template);
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
  PHYLLO_ASSIGN_OR_RETURN(const std::string tokenizer_json,
                          ReadFile(directory + "/tokenizer.json"));
  std::string optional_files[2];
  const char* const names[2] = {"/tokenizer_config.json", "/chat_template.jinja"};
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<std::string> contents = ReadFile(directory + names[i]);
    if (contents.ok()) {
      optional_files[i] = *std::move(contents);
    } else if (!absl::IsNotFound(contents.status())) {
      return contents.status();
    }
  }
  return FromJson(tokenizer_json, optional_files[0], optional_files[1]);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(
    absl::string_view tokenizer_json, absl::string_view tokenizer_config_json,
    absl::string_view chat_template) {
  auto parts = absl::make_unique<TokenizerParts>();
  PHYLLO_ASSIGN_OR_RETURN(parts->config, ReadConfig(tokenizer_config_json, chat_template));
  PHYLLO_ASSIGN_OR_RETURN(const nlohmann::json file, ParseJson(tokenizer_json, "tokenizer.json"));
  PHYLLO_ASSIGN_OR_RETURN(parts->pipeline,
                          EncodePipeline::FromJson(file, parts->config.chat_template));
  const nlohmann::json* decoder = FindField(file, "decoder");
  PHYLLO_ASSIGN_OR_RETURN(parts->decoder,
                          TokenDecoder::FromJson(decoder == nullptr ? nlohmann::json() : *decoder));
  parts->digest = Sha256Hex(tokenizer_json);
  parts->chat_template_digest = Sha256Hex(parts->config.chat_template);
  parts->vocab_size = parts->pipeline->model().vocab_size();
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
    const absl::optional<absl::string_view> token = added != nullptr
                                                        ? absl::string_view(added->content)
                                                        : parts_->pipeline->model().TokenOf(id);
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
    const absl::optional<absl::string_view> token = parts_->pipeline->model().TokenOf(id);
    if (!token.has_value()) return absl::nullopt;
    info.token = *token;
  }
  info.bytes = parts_->decoder->TokenBytes(info.token);
  return info;
}

absl::optional<int32_t> Tokenizer::IdOf(absl::string_view token) const {
  const absl::optional<int32_t> added = parts_->pipeline->added_tokens().IdOf(token);
  return added.has_value() ? added : parts_->pipeline->model().IdOf(token);
}

int64_t Tokenizer::vocab_size() const { return parts_->vocab_size; }
const TokenizerConfig& Tokenizer::config() const { return parts_->config; }
const std::string& Tokenizer::digest() const { return parts_->digest; }
const std::string& Tokenizer::chat_template_digest() const { return parts_->chat_template_digest; }
const TokenDecoder& Tokenizer::decoder() const { return *parts_->decoder; }

}  // namespace phyllo
