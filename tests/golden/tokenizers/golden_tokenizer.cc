#include "tests/golden/tokenizers/golden_tokenizer.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "model/base/status_macros.h"
#include "model/tokenizer/tokenizer_files.h"
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

// Appends the cases of one line.
void AppendCases(const Json& line, GoldenFormat format,
                 const std::vector<std::string>& special_tokens, std::vector<GoldenCase>* cases) {
  using Ids = std::vector<int32_t>;
  const auto ids_of = [&](const char* key, const Ids& otherwise) {
    return line.contains(key) ? line[key].get<Ids>() : otherwise;
  };
  GoldenCase result;
  result.id = line["id"];
  result.text = line["text"];
  result.parse_special_tokens = true;
  result.ids = line["ids"].get<Ids>();
  result.ids_special = ids_of("ids_special", result.ids);
  result.decoded = line.value("decoded", result.text);
  result.decoded_skip_special = line.value("decoded_skip_special", result.decoded);
  if (format == GoldenFormat::kSentencePiece) {
    result.parse_special_tokens = false;
    result.ids = ids_of("sentencepiece_ids", result.ids);
    result.ids_special = result.ids;
    result.ids_special.insert(result.ids_special.begin(), 1);  // <s>
    result.decoded = line.value("sentencepiece_decoded", result.decoded);
    result.decoded_skip_special = result.decoded;
  } else if (format == GoldenFormat::kTiktoken) {
    result.parse_special_tokens = false;
    cases->push_back(result);
    result.parse_special_tokens = true;
    result.ids = result.ids_special = ids_of("ids_allow_special", result.ids);
    if (line.contains("ids_allow_special")) {
      // What is left out with skip_special_tokens: tiktoken has no such setting.
      for (const std::string& token : special_tokens)
        absl::StrReplaceAll({{token, ""}}, &result.decoded_skip_special);
    }
  }
  cases->push_back(std::move(result));
}

GoldenStream ToStream(const Json& line, GoldenFormat format) {
  GoldenStream result;
  result.id = line["id"];
  result.group = line["group"];
  result.ids = line["ids"].get<std::vector<int32_t>>();
  result.skip_special_tokens = format == GoldenFormat::kSentencePiece;
  result.decoded = line["decoded"];
  if (format == GoldenFormat::kSentencePiece) {
    result.decoded = line.value("sentencepiece_decoded", result.decoded);
    return result;
  }
  for (const Json& bytes : line["token_bytes"]) {
    result.token_bytes.emplace_back();
    if (bytes.is_string())
      result.token_bytes.back() = absl::HexStringToBytes(bytes.get<std::string>());
  }
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

// The files in `folder` that say what the tokens are.
absl::StatusOr<TokenizerFiles> ReadVocabulary(const std::string& name, const std::string& folder,
                                              GoldenFormat format) {
  TokenizerFiles files;
  const auto read = [&](absl::string_view file, std::string* contents) -> absl::Status {
    PHYLLO_ASSIGN_OR_RETURN(*contents, ReadPlainOrXz(absl::StrCat(folder, "/", file)));
    return absl::OkStatus();
  };
  switch (format) {
    case GoldenFormat::kTokenizerJson:
      PHYLLO_RETURN_IF_ERROR(read("tokenizer.json", &files.tokenizer_json));
      break;
    case GoldenFormat::kVocabMerges:
      PHYLLO_RETURN_IF_ERROR(read("vocab.json", &files.vocab_json));
      PHYLLO_RETURN_IF_ERROR(read("merges.txt", &files.merges_txt));
      break;
    case GoldenFormat::kSentencePiece:
      PHYLLO_RETURN_IF_ERROR(read("tokenizer.model", &files.sentencepiece_model));
      break;
    case GoldenFormat::kTiktoken:
      files.tiktoken_name = name;
      PHYLLO_RETURN_IF_ERROR(read(name + ".tiktoken", &files.tiktoken));
      PHYLLO_RETURN_IF_ERROR(read("spec.json", &files.tiktoken_spec));
      break;
  }
  return files;
}

// The special tokens of a spec.json; none of "".
std::vector<std::string> SpecialTokens(const std::string& spec) {
  std::vector<std::string> tokens;
  const Json file = Json::parse(spec, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return tokens;
  for (const auto& [token, id] : file["special_tokens"].items()) tokens.push_back(token);
  return tokens;
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

absl::StatusOr<GoldenFormat> ParseGoldenFormat(absl::string_view name) {
  if (name == "tokenizer.json") return GoldenFormat::kTokenizerJson;
  if (name == "merges.txt") return GoldenFormat::kVocabMerges;
  if (name == "tokenizer.model") return GoldenFormat::kSentencePiece;
  if (name == "tiktoken") return GoldenFormat::kTiktoken;
  return absl::InvalidArgumentError(absl::StrCat("no such format: ", name));
}

absl::StatusOr<GoldenTokenizer> LoadGoldenTokenizer(const std::string& name,
                                                    const std::string& vocabulary,
                                                    const std::vector<std::string>& without,
                                                    GoldenFormat format) {
  const std::string folder = GoldenTokenizerFolder(name);
  PHYLLO_ASSIGN_OR_RETURN(TokenizerFiles files,
                          ReadVocabulary(vocabulary, GoldenTokenizerFolder(vocabulary), format));
  PHYLLO_ASSIGN_OR_RETURN(files.tokenizer_json, WithoutTokens(files.tokenizer_json, without));
  // chat_tokens.json has the keys of tokenizer_config.json that a template sees.
  const absl::StatusOr<std::string> tokens = ReadPlainOrXz(folder + "/chat_tokens.json");
  const absl::StatusOr<std::string> chat_template = ReadPlainOrXz(folder + "/chat_template.jinja");
  files.tokenizer_config_json = tokens.value_or("");
  files.chat_template = chat_template.value_or("");
  GoldenTokenizer result;
  PHYLLO_ASSIGN_OR_RETURN(result.tokenizer, Tokenizer::FromFiles(files));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> cases, ReadLines(folder + "/cases.jsonl"));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> streams, ReadLines(folder + "/streaming.jsonl"));
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<Json> chats, ReadLines(folder + "/chat.jsonl"));
  const std::vector<std::string> special = SpecialTokens(files.tiktoken_spec);
  for (const Json& line : cases) AppendCases(line, format, special, &result.cases);
  for (const Json& line : streams) result.streams.push_back(ToStream(line, format));
  for (const Json& line : chats) result.chats.push_back(ToChat(line));
  return result;
}

}  // namespace phyllo
