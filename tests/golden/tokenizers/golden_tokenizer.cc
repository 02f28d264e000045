#include "tests/golden/tokenizers/golden_tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/base/status_macros.h"
#include "nlohmann/json.hpp"
#include "tests/golden/tokenizers/xz_file.h"

namespace phyllo {
namespace {

using Json = nlohmann::ordered_json;

bool FolderExists(const std::string& folder) {
  return std::ifstream(folder + "/cases.jsonl").good() ||
         std::ifstream(folder + "/chat.jsonl").good();
}

// The value of an environment variable, or "".
std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The objects of a .jsonl file; none if the file does not exist.
absl::StatusOr<std::vector<Json>> ReadLines(const std::string& path) {
  const absl::StatusOr<std::string> contents = ReadPlainOrXz(path);
  if (absl::IsNotFound(contents.status())) return std::vector<Json>();
  PHYLLO_RETURN_IF_ERROR(contents.status());
  std::vector<Json> lines;
  for (const absl::string_view line : absl::StrSplit(*contents, '\n', absl::SkipEmpty())) {
    lines.push_back(Json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false));
    if (!lines.back().is_object()) return absl::DataLossError(absl::StrCat(path, " is malformed"));
  }
  return lines;
}

GoldenCase ToCase(const Json& line) {
  GoldenCase result;
  result.id = line["id"];
  result.text = line["text"];
  result.ids = line["ids"].get<std::vector<int32_t>>();
  result.ids_special =
      line.contains("ids_special") ? line["ids_special"].get<std::vector<int32_t>>() : result.ids;
  result.decoded = line.value("decoded", result.text);
  result.decoded_skip_special = line.value("decoded_skip_special", result.decoded);
  return result;
}

GoldenStream ToStream(const Json& line) {
  GoldenStream result;
  result.id = line["id"];
  result.group = line["group"];
  result.ids = line["ids"].get<std::vector<int32_t>>();
  for (const Json& bytes : line["token_bytes"]) {
    result.token_bytes.emplace_back();
    if (bytes.is_string())
      result.token_bytes.back() = absl::HexStringToBytes(bytes.get<std::string>());
  }
  result.decoded = line["decoded"];
  result.prefix_decoded = line["prefix_decoded"].get<std::vector<std::string>>();
  return result;
}

GoldenChat ToChat(const Json& line) {
  GoldenChat result;
  result.name = line["name"];
  result.messages_json = line["messages"].dump();
  if (!line["tools"].is_null()) result.tools_json = line["tools"].dump();
  result.kwargs_json = line["kwargs"].dump();
  result.add_generation_prompt = line["add_generation_prompt"];
  result.rendered = line.value("rendered", "");
  if (line.contains("ids")) result.ids = line["ids"].get<std::vector<int32_t>>();
  result.error = line.value("error", "");
  const size_t colon = result.error.find(": ");  // "TemplateError: message".
  if (colon != std::string::npos) result.error.erase(0, colon + 2);
  return result;
}

// tokenizer.json without the added tokens whose content is in `without`.
absl::StatusOr<std::string> WithoutTokens(const std::string& tokenizer_json,
                                          const std::vector<std::string>& without) {
  if (without.empty()) return tokenizer_json;
  nlohmann::json file = nlohmann::json::parse(tokenizer_json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return absl::DataLossError("tokenizer.json is malformed");
  nlohmann::json kept = nlohmann::json::array();
  for (const nlohmann::json& token : file["added_tokens"]) {
    const auto content = token["content"].get<std::string>();
    if (std::find(without.begin(), without.end(), content) == without.end()) kept.push_back(token);
  }
  file["added_tokens"] = std::move(kept);
  return file.dump();
}

}  // namespace

std::string GoldenTokenizerFolder(const std::string& name) {
  // `bazel run` starts a program in its workspace; a test is told where that is.
  std::string inside = absl::StrCat("tests/golden/data/tokenizers/", name);
  if (!Environment("TEST_SRCDIR").empty()) {
    inside =
        absl::StrCat(Environment("TEST_SRCDIR"), "/", Environment("TEST_WORKSPACE"), "/", inside);
  }
  if (FolderExists(inside)) return inside;
  const std::string outside = absl::StrCat(Environment("PHYLLO_GOLDEN_DIR"), "/tokenizers/", name);
  return FolderExists(outside) ? outside : "";
}

absl::StatusOr<GoldenTokenizer> LoadGoldenTokenizer(const std::string& name,
                                                    const std::string& vocabulary,
                                                    const std::vector<std::string>& without) {
  const std::string folder = GoldenTokenizerFolder(name);
  PHYLLO_ASSIGN_OR_RETURN(std::string tokenizer_json,
                          ReadPlainOrXz(GoldenTokenizerFolder(vocabulary) + "/tokenizer.json"));
  PHYLLO_ASSIGN_OR_RETURN(tokenizer_json, WithoutTokens(tokenizer_json, without));
  // chat_tokens.json has the keys of tokenizer_config.json that a template sees.
  const absl::StatusOr<std::string> tokens = ReadPlainOrXz(folder + "/chat_tokens.json");
  const absl::StatusOr<std::string> chat_template = ReadPlainOrXz(folder + "/chat_template.jinja");
  GoldenTokenizer result;
  PHYLLO_ASSIGN_OR_RETURN(result.tokenizer, Tokenizer::FromJson(tokenizer_json, tokens.value_or(""),
                                                                chat_template.value_or("")));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> cases, ReadLines(folder + "/cases.jsonl"));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> streams, ReadLines(folder + "/streaming.jsonl"));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> chats, ReadLines(folder + "/chat.jsonl"));
  for (const Json& line : cases) result.cases.push_back(ToCase(line));
  for (const Json& line : streams) result.streams.push_back(ToStream(line));
  for (const Json& line : chats) result.chats.push_back(ToChat(line));
  return result;
}

}  // namespace phyllo
