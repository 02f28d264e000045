#include "model/tokenizer/tokenizer_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/gguf/model_files.h"

namespace phyllo {
namespace {

// Reads `directory`/`name` into `contents`, if it is there.
absl::Status ReadIfThere(const std::string& directory, absl::string_view name,
                         std::string* contents) {
  absl::StatusOr<std::string> file = ReadModelFile(directory, name);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(file.status());
  *contents = *std::move(file);
  return absl::OkStatus();
}

// The name of the one .tiktoken file of `directory` without its ending; empty if there is none.
absl::StatusOr<std::string> FindTiktoken(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".tiktoken") names.push_back(path.stem().string());
  }
  if (names.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(directory, " has ", names.size(), " .tiktoken files, must have one"));
  }
  return names.empty() ? std::string() : names[0];
}

// Reads the files that say what the tokens are.
absl::Status ReadVocabulary(const std::string& directory, TokenizerFiles* files) {
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "tokenizer.json", &files->tokenizer_json));
  if (!files->tokenizer_json.empty()) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "tokenizer.model", &files->sentencepiece_model));
  if (!files->sentencepiece_model.empty()) return absl::OkStatus();
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "vocab.json", &files->vocab_json));
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "merges.txt", &files->merges_txt));
  if (!files->vocab_json.empty() && !files->merges_txt.empty()) return absl::OkStatus();
  files->vocab_json.clear();
  files->merges_txt.clear();
  PHYLLO_ASSIGN_OR_RETURN(files->tiktoken_name, FindTiktoken(directory));
  if (!files->tiktoken_name.empty()) {
    PHYLLO_RETURN_IF_ERROR(
        ReadIfThere(directory, absl::StrCat(files->tiktoken_name, ".tiktoken"), &files->tiktoken));
    PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "spec.json", &files->tiktoken_spec));
    if (!files->tiktoken.empty()) return absl::OkStatus();
  }
  return absl::NotFoundError(
      absl::StrCat(directory,
                   " has no tokenizer: no tokenizer.json, tokenizer.model, vocab.json with "
                   "merges.txt, or .tiktoken file"));
}

}  // namespace

absl::StatusOr<TokenizerFiles> ReadTokenizerFiles(const std::string& directory) {
  TokenizerFiles files;
  PHYLLO_RETURN_IF_ERROR(ReadVocabulary(directory, &files));
  PHYLLO_RETURN_IF_ERROR(
      ReadIfThere(directory, "tokenizer_config.json", &files.tokenizer_config_json));
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "chat_template.jinja", &files.chat_template));
  PHYLLO_RETURN_IF_ERROR(ReadIfThere(directory, "added_tokens.json", &files.added_tokens_json));
  PHYLLO_RETURN_IF_ERROR(
      ReadIfThere(directory, "special_tokens_map.json", &files.special_tokens_map_json));
  return files;
}

}  // namespace phyllo
