#include "model/tokenizer/components/post_processor.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/text/json_fields.h"
#include "nlohmann/json.hpp"

namespace phyllo {
namespace {

constexpr int kMaxDepth = 16;  // Of Sequence in Sequence.

absl::StatusOr<int32_t> TokenId(const nlohmann::json& value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 0 ||
      value.get<int64_t>() > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError("post_processor: a token id is not an integer in range");
  }
  return static_cast<int32_t>(value.get<int64_t>());
}

// Appends the ids of the item {"SpecialToken": {"id": name}} of a template.
absl::Status AppendSpecialToken(const nlohmann::json& component, const nlohmann::json& item,
                                std::vector<int32_t>* ids) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string name, StringField(item, "id"));
  const nlohmann::json* tokens = FindField(component, "special_tokens");
  const nlohmann::json* token = tokens == nullptr ? nullptr : FindField(*tokens, name.c_str());
  const nlohmann::json* list = token == nullptr ? nullptr : FindField(*token, "ids");
  if (list == nullptr || !list->is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat("post_processor: \"", name, "\" is not in special_tokens"));
  }
  for (const nlohmann::json& value : *list) {
    PHYLLO_ASSIGN_OR_RETURN(const int32_t id, TokenId(value));
    ids->push_back(id);
  }
  return absl::OkStatus();
}

absl::Status ReadTemplate(const nlohmann::json& component, PostProcessor* result) {
  const nlohmann::json* single = FindField(component, "single");
  if (single == nullptr || !single->is_array()) {
    return absl::InvalidArgumentError(
        "post_processor TemplateProcessing: field \"single\" must be an array");
  }
  bool text_seen = false;
  for (const nlohmann::json& item : *single) {
    if (const nlohmann::json* special = FindField(item, "SpecialToken")) {
      PHYLLO_RETURN_IF_ERROR(
          AppendSpecialToken(component, *special, text_seen ? &result->suffix : &result->prefix));
    } else if (FindField(item, "Sequence") != nullptr && !text_seen) {
      text_seen = true;
    } else {
      return absl::InvalidArgumentError(
          "post_processor TemplateProcessing: \"single\" must hold the text once");
    }
  }
  if (!text_seen)
    return absl::InvalidArgumentError(
        "post_processor TemplateProcessing: \"single\" leaves the text out");
  return absl::OkStatus();
}

// Reads the pair [token, id] that Bert and Roberta processing have.
absl::Status AppendPair(const nlohmann::json& component, const char* key,
                        std::vector<int32_t>* ids) {
  const nlohmann::json* pair = FindField(component, key);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("post_processor: field \"", key, "\" must be [token, id]"));
  }
  PHYLLO_ASSIGN_OR_RETURN(const int32_t id, TokenId((*pair)[1]));
  ids->push_back(id);
  return absl::OkStatus();
}

absl::Status Read(const nlohmann::json& component, int depth, PostProcessor* result) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string type, ComponentType(component));
  if (type == "ByteLevel") return absl::OkStatus();
  if (type == "TemplateProcessing" || type == "BertProcessing" || type == "RobertaProcessing") {
    PostProcessor own;
    if (type == "TemplateProcessing") {
      PHYLLO_RETURN_IF_ERROR(ReadTemplate(component, &own));
    } else {
      PHYLLO_RETURN_IF_ERROR(AppendPair(component, "cls", &own.prefix));
      PHYLLO_RETURN_IF_ERROR(AppendPair(component, "sep", &own.suffix));
    }
    // A later member of a sequence wraps what the earlier ones made.
    result->prefix.insert(result->prefix.begin(), own.prefix.begin(), own.prefix.end());
    result->suffix.insert(result->suffix.end(), own.suffix.begin(), own.suffix.end());
    return absl::OkStatus();
  }
  if (type != "Sequence") return UnknownComponent("post_processor", type);
  const nlohmann::json* list = FindField(component, "processors");
  if (list == nullptr || !list->is_array() || depth >= kMaxDepth) {
    return absl::InvalidArgumentError(
        "post_processor Sequence: field \"processors\" must be an array, not nested deeply");
  }
  for (const nlohmann::json& item : *list) PHYLLO_RETURN_IF_ERROR(Read(item, depth + 1, result));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PostProcessor> MakePostProcessor(const nlohmann::json& component) {
  PostProcessor result;
  if (!component.is_null()) PHYLLO_RETURN_IF_ERROR(Read(component, 0, &result));
  return result;
}

}  // namespace phyllo
