#include "services/transformer/draft_model/draft_model.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/base/status_macros.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/gguf/model_files.h"

namespace phyllo {
namespace {

absl::StatusOr<int64_t> VocabSize(const std::string& folder) {
  PHYLLO_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(folder, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(text));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  return description.vocab_size;
}

}  // namespace

LocalStepModelOptions SplitOffDraftModel(const std::string& draft_folder,
                                         LocalStepModelOptions& options) {
  LocalStepModelOptions draft = options;
  draft.model_folder = draft_folder;
  draft.precision = {};
  draft.memory_bytes /= 4;
  options.memory_bytes -= draft.memory_bytes;
  if (options.kv_cache_bytes) {
    *draft.kv_cache_bytes /= 4;
    *options.kv_cache_bytes -= *draft.kv_cache_bytes;
  }
  return draft;
}

absl::Status CheckSameTokens(const std::string& folder, const std::string& draft_folder) {
  const absl::StatusOr<std::string> tokenizer = ReadModelFile(folder, "tokenizer.json");
  const absl::StatusOr<std::string> draft_tokenizer = ReadModelFile(draft_folder, "tokenizer.json");
  if (tokenizer.ok() && draft_tokenizer.ok()) {
    if (*tokenizer == *draft_tokenizer) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "the draft model has another tokenizer.json than the model it drafts for");
  }
  PHYLLO_ASSIGN_OR_RETURN(const int64_t size, VocabSize(folder));
  PHYLLO_ASSIGN_OR_RETURN(const int64_t draft_size, VocabSize(draft_folder));
  if (size == draft_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the draft model has ", draft_size,
                                                 " tokens, the model it drafts for has ", size));
}

absl::StatusOr<DraftModel> LoadDraftModel(LocalStepModelOptions options, LocalStepModel& target) {
  DraftModel draft;
  options.thread_pool = &target.thread_pool();
  PHYLLO_ASSIGN_OR_RETURN(draft.model, LocalStepModel::Load(options));
  PHYLLO_ASSIGN_OR_RETURN(draft.drafter, ModelDrafter::Create(*draft.model, {}));
  return draft;
}

}  // namespace phyllo
