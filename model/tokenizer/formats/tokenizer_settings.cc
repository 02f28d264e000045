#include "model/tokenizer/formats/tokenizer_settings.h"

#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"

namespace phyllo {
namespace {

constexpr const char* kSpecialKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text, absl::string_view name) {
  if (text.empty()) return nlohmann::json::object();
  nlohmann::json value =
      nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded())
    return absl::InvalidArgumentError(absl::StrCat(name, " is not valid JSON"));
  if (!value.is_object())
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a JSON object"));
  return value;
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

// Collects entries of added_tokens; the first of a text counts.
class AddedTokenList {
 public:
  void Add(int64_t id, nlohmann::json entry) {
    const auto content = entry["content"].get<std::string>();
    if (content.empty() || !contents_.insert(content).second) return;
    entry["id"] = id;
    list_.push_back(std::move(entry));
  }

  void AddSpecial(int64_t id, const std::string& content) {
    Add(id, {{"content", content}, {"special", true}, {"normalized", false}});
  }

  // Adds a token as special_tokens_map.json has it, a string or an object, if it has an id.
  absl::Status AddNamed(const nlohmann::json& token, const Vocabulary& vocabulary) {
    nlohmann::json entry = token;
    if (token.is_string()) entry = {{"content", token}, {"normalized", false}};
    PHYLLO_ASSIGN_OR_RETURN(const std::string content, StringField(entry, "content"));
    entry["special"] = true;
    const absl::optional<int32_t> id = vocabulary.IdOf(content);
    if (id.has_value()) Add(*id, std::move(entry));
    return absl::OkStatus();
  }

  nlohmann::json Take() { return std::move(list_); }

 private:
  nlohmann::json list_ = nlohmann::json::array();
  absl::flat_hash_set<std::string> contents_;
};

absl::Status AddDecoderTable(const nlohmann::json& table, AddedTokenList* list) {
  for (auto entry = table.begin(); entry != table.end(); ++entry) {
    int64_t id = 0;
    if (!absl::SimpleAtoi(entry.key(), &id) || !entry->is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat("added_tokens_decoder: entry \"", entry.key(), "\" is malformed"));
    }
    PHYLLO_RETURN_IF_ERROR(StringField(*entry, "content").status());
    list->Add(id, *entry);
  }
  return absl::OkStatus();
}

// The special tokens that `names` (either file) names.
absl::Status CollectNamed(const nlohmann::json& names, std::vector<nlohmann::json>* tokens) {
  for (const char* const key : kSpecialKeys) {
    const nlohmann::json* token = FindField(names, key);
    if (token != nullptr) tokens->push_back(*token);
  }
  const nlohmann::json* additional = FindField(names, "additional_special_tokens");
  if (additional == nullptr) return absl::OkStatus();
  if (!additional->is_array())
    return absl::InvalidArgumentError("\"additional_special_tokens\" must be an array");
  for (const nlohmann::json& token : *additional) tokens->push_back(token);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TokenizerSettings> ParseTokenizerSettings(const TokenizerFiles& files) {
  TokenizerSettings settings;
  PHYLLO_ASSIGN_OR_RETURN(settings.config,
                          ParseObject(files.tokenizer_config_json, "tokenizer_config.json"));
  PHYLLO_ASSIGN_OR_RETURN(settings.added_tokens,
                          ParseObject(files.added_tokens_json, "added_tokens.json"));
  PHYLLO_ASSIGN_OR_RETURN(settings.special_tokens_map,
                          ParseObject(files.special_tokens_map_json, "special_tokens_map.json"));
  PHYLLO_ASSIGN_OR_RETURN(settings.chat_template, ConfiguredTemplate(settings.config));
  if (!files.chat_template.empty()) settings.chat_template = files.chat_template;
  return settings;
}

absl::StatusOr<std::string> NamedToken(const TokenizerSettings& settings, const char* key) {
  for (const nlohmann::json* const file : {&settings.config, &settings.special_tokens_map}) {
    const nlohmann::json* value = FindField(*file, key);
    if (value == nullptr) continue;
    return value->is_object() ? StringField(*value, "content") : StringField(*file, key);
  }
  return std::string();
}

absl::StatusOr<nlohmann::json> ListAddedTokens(const TokenizerSettings& settings,
                                               const Vocabulary& vocabulary,
                                               const std::vector<std::string>& default_special) {
  AddedTokenList list;
  const nlohmann::json* decoder = FindField(settings.config, "added_tokens_decoder");
  if (decoder != nullptr) {
    if (!decoder->is_object())
      return absl::InvalidArgumentError("\"added_tokens_decoder\" must be an object");
    PHYLLO_RETURN_IF_ERROR(AddDecoderTable(*decoder, &list));
  }
  std::vector<nlohmann::json> special;
  PHYLLO_RETURN_IF_ERROR(CollectNamed(settings.config, &special));
  PHYLLO_RETURN_IF_ERROR(CollectNamed(settings.special_tokens_map, &special));
  absl::flat_hash_set<std::string> special_contents;
  for (const nlohmann::json& token : special) {
    if (token.is_string()) special_contents.insert(token.get<std::string>());
    if (token.is_object()) {
      PHYLLO_ASSIGN_OR_RETURN(std::string content, StringField(token, "content"));
      special_contents.insert(std::move(content));
    }
  }
  for (auto entry = settings.added_tokens.begin(); entry != settings.added_tokens.end(); ++entry) {
    if (!entry->is_number_integer()) {
      return absl::InvalidArgumentError(
          absl::StrCat("added_tokens.json: the id of \"", entry.key(), "\" is no integer"));
    }
    if (special_contents.contains(entry.key())) {
      list.AddSpecial(entry->get<int64_t>(), entry.key());
    } else {
      list.Add(entry->get<int64_t>(), {{"content", entry.key()}, {"special", false}});
    }
  }
  for (const nlohmann::json& token : special)
    PHYLLO_RETURN_IF_ERROR(list.AddNamed(token, vocabulary));
  if (special.empty()) {
    for (const std::string& token : default_special)
      PHYLLO_RETURN_IF_ERROR(list.AddNamed(token, vocabulary));
  }
  return list.Take();
}

}  // namespace phyllo
