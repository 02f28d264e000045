// The embedding service's binary.
#include <malloc.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/embedding/embedding_table.h"
#include "model/gguf/model_files.h"
#include "model/packed_cache/cache_folder.h"
#include "model/packed_cache/weights_digest.h"
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/embedding/embedding_service.h"

ABSL_FLAG(std::string, model, "",
          "Hugging Face model folder (config.json and *.safetensors) or GGUF file. Required");
ABSL_FLAG(std::string, model_name, "", "Name of the model in GetInfo. Empty: the folder's name");
ABSL_FLAG(std::string, packed_cache, "auto",
          "Where the digest of the weights is kept for the next start: auto = beside the weights "
          "in .phyllo, or in the user's cache folder if that cannot be written, and nowhere for a "
          "model below 64 MiB; off; or a folder");
ABSL_FLAG(bool, verify_weights, false,
          "Reads every byte of the weights for their digest, whatever is known of the files");
ABSL_FLAG(int64_t, max_rows, 4096,
          "Most rows of one answer; less if a message cannot hold them. Range [1, 1048576]");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Phyllo's embedding service: token ids to the hidden states that enter the first layer.

  embedding --model=/models/qwen3 --listen=127.0.0.1:50052
  embedding --model=/models/qwen3 --listen=unix:/run/phyllo/embedding.sock --metrics_address=127.0.0.1:9102
  embedding --model=/models/qwen3 --listen=127.0.0.1:0 --port_file=/tmp/embedding.port

The matrix stays in the memory map of the checkpoint: only the rows in use cost memory. At the first start every byte of the weights is
read once for their digest (--packed_cache, --verify_weights). The interface is proto/phyllo/embedding/v1/embedding.proto.
SIGTERM drains, a second one stops at once.)";

struct EmbeddingModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<EmbeddingTable> table;  // Borrows the checkpoint.
  common::v1::ModelFingerprint fingerprint;
};

// From the file beside the weights, or by reading them.
absl::StatusOr<std::string> Digest(const Checkpoint& checkpoint, const std::string& folder,
                                   ServiceProcess& process) {
  PHYLLO_ASSIGN_OR_RETURN(CacheFolder cache,
                          FindCacheFolder(absl::GetFlag(FLAGS_packed_cache), folder, checkpoint));
  PHYLLO_ASSIGN_OR_RETURN(
      const WeightsDigest digest,
      FindWeightsDigest(checkpoint,
                        {.folder = std::move(cache),
                         .verify = absl::GetFlag(FLAGS_verify_weights),
                         .progress = [&process](int64_t done_bytes, int64_t total_bytes) {
                           process.load_progress().Report("digesting", done_bytes, total_bytes);
                         }}));
  process.logger().Info("digest of the weights",
                        {{"from_file", digest.from_file}, {"file_status", digest.file_status}});
  return digest.sha256;
}

absl::StatusOr<EmbeddingModel> LoadModel(const std::string& folder, ServiceProcess& process) {
  EmbeddingModel model;
  PHYLLO_ASSIGN_OR_RETURN(model.fingerprint, FingerprintFolder(folder));
  PHYLLO_ASSIGN_OR_RETURN(const std::string config_json, ReadModelFile(folder, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(config_json));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  PHYLLO_ASSIGN_OR_RETURN(model.checkpoint, Checkpoint::Open(folder));
  PHYLLO_ASSIGN_OR_RETURN(EmbeddingTable table,
                          EmbeddingTable::Create(description, *model.checkpoint));
  model.table = std::make_unique<EmbeddingTable>(std::move(table));

  PHYLLO_ASSIGN_OR_RETURN(const std::string digest, Digest(*model.checkpoint, folder, process));
  model.fingerprint.set_weights_sha256(DigestBytes(digest));
  // Warm-up: one row.
  std::vector<float> row(static_cast<size_t>(model.table->hidden_size()));
  PHYLLO_RETURN_IF_ERROR(model.table->Embed({0}, 0, absl::MakeSpan(row)));
  return model;
}

// An answer is there twice, as rows and as a message, often of some hundred KiB. The allocator
// would give such memory back to the kernel after every call and take it page by page for the next
// one.
void KeepMemoryOfAnswers() {
  constexpr int kMostBytes = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kMostBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kMostBytes);
}

int Main(int argc, char** argv) {
  KeepMemoryOfAnswers();
  ServiceProcess process(ParseServiceFlags("embedding", "127.0.0.1:50052", kUsage, argc, argv));
  const std::string folder = absl::GetFlag(FLAGS_model);
  if (folder.empty())
    return process.Fail(absl::InvalidArgumentError("--model is required; try --help"));
  const int64_t max_rows = absl::GetFlag(FLAGS_max_rows);
  const absl::Status range = CheckFlagRange("max_rows", max_rows, 1, 1048576);
  if (!range.ok()) return process.Fail(range);

  absl::StatusOr<EmbeddingModel> model = LoadModel(folder, process);
  if (!model.ok()) return process.Fail(model.status());
  common::v1::ServerInfo info;
  info.set_model(ModelName(absl::GetFlag(FLAGS_model_name), folder));
  *info.mutable_fingerprint() = model->fingerprint;
  const ServerIdentity identity(std::move(info));

  EmbeddingServiceImpl service(
      *model->table, identity,
      {.max_rows = max_rows, .max_calls = process.server_options().max_handler_threads});
  return process.Run({{&service, embedding::v1::EmbeddingService::service_full_name()}});
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
