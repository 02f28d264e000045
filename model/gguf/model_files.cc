#include "model/gguf/model_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/gguf_files.h"
#include "model/gguf/gguf_config.h"
#include "model/gguf/gguf_tokenizer.h"

namespace phyllo {
namespace {

absl::StatusOr<std::string> ReadFolderFile(const std::string& folder, absl::string_view name) {
  std::ifstream stream(absl::StrCat(folder, "/", name), std::ios::binary);
  if (!stream) {
    std::error_code ignored;
    return absl::NotFoundError(std::filesystem::is_directory(folder, ignored)
                                   ? absl::StrCat("the model folder has no ", name)
                                   : "the model folder does not exist");
  }
  std::string contents{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) return absl::DataLossError(absl::StrCat("cannot read ", name));
  return contents;
}

absl::StatusOr<std::string> Translate(const Checkpoint& checkpoint, absl::string_view name) {
  if (name == "config.json") return GgufConfigJson(checkpoint);
  if (name == "generation_config.json") return GgufGenerationConfigJson(checkpoint);
  if (name == "tokenizer.json") return GgufTokenizerJson(*checkpoint.gguf());
  if (name == "tokenizer_config.json") return GgufTokenizerConfigJson(*checkpoint.gguf());
  return absl::NotFoundError(absl::StrCat("a GGUF file has no ", name));
}

}  // namespace

absl::StatusOr<std::string> ReadModelFile(const std::string& path, absl::string_view name) {
  PHYLLO_ASSIGN_OR_RETURN(const std::vector<std::string> gguf_files, FindGgufFiles(path));
  if (gguf_files.empty()) return ReadFolderFile(path, name);
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::Open(path));
  return Translate(*checkpoint, name);
}

}  // namespace phyllo
