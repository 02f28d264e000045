// The embedding service's binary.
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
#include "services/common/server_identity.h"
#include "services/common/service_flags.h"
#include "services/common/service_process.h"
#include "services/embedding/embedding_service.h"

ABSL_FLAG(std::string, model, "",
          "Hugging Face model folder (config.json and *.safetensors) or GGUF file. Required");
ABSL_FLAG(std::string, model_name, "", "Name of the model in GetInfo. Empty: the folder's name");
ABSL_FLAG(int64_t, max_rows, 4096,
          "Most rows of one answer; less if a message cannot hold them. Range [1, 1048576]");

namespace phyllo {
namespace {

constexpr char kUsage[] =
    R"(Phyllo's embedding service: token ids to the hidden states that enter the first layer.

  embedding --model=/models/qwen3 --listen=127.0.0.1:50052
  embedding --model=/models/qwen3 --listen=unix:/run/phyllo/embedding.sock --metrics_address=127.0.0.1:9102
  embedding --model=/models/qwen3 --listen=127.0.0.1:0 --port_file=/tmp/embedding.port

The matrix stays in the memory map of the checkpoint: only the rows in use cost memory. At the start every byte of the weights is read
once for their digest. The interface is proto/phyllo/embedding/v1/embedding.proto. SIGTERM drains, a second one stops at once.)";

struct EmbeddingModel {
  std::unique_ptr<Checkpoint> checkpoint;
  std::unique_ptr<EmbeddingTable> table;  // Borrows the checkpoint.
  common::v1::ModelFingerprint fingerprint;
};

absl::StatusOr<EmbeddingModel> LoadModel(const std::string& folder, Logger& logger) {
  EmbeddingModel model;
  PHYLLO_ASSIGN_OR_RETURN(model.fingerprint, FingerprintFolder(folder));
  PHYLLO_ASSIGN_OR_RETURN(const std::string config_json, ReadModelFile(folder, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(config_json));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  PHYLLO_ASSIGN_OR_RETURN(model.checkpoint, Checkpoint::Open(folder));
  PHYLLO_ASSIGN_OR_RETURN(EmbeddingTable table,
                          EmbeddingTable::Create(description, *model.checkpoint));
  model.table = std::make_unique<EmbeddingTable>(std::move(table));

  logger.Info("reading the weights for their digest", {{"bytes", model.checkpoint->total_bytes()}});
  PHYLLO_ASSIGN_OR_RETURN(const std::string digest, ComputeWeightsDigest(*model.checkpoint));
  model.fingerprint.set_weights_sha256(DigestBytes(digest));
  // Warm-up: one row.
  std::vector<float> row(static_cast<size_t>(model.table->hidden_size()));
  PHYLLO_RETURN_IF_ERROR(model.table->Embed({0}, 0, absl::MakeSpan(row)));
  return model;
}

int Main(int argc, char** argv) {
  ServiceProcess process(ParseServiceFlags("embedding", "127.0.0.1:50052", kUsage, argc, argv));
  const std::string folder = absl::GetFlag(FLAGS_model);
  if (folder.empty())
    return process.Fail(absl::InvalidArgumentError("--model is required; try --help"));
  const int64_t max_rows = absl::GetFlag(FLAGS_max_rows);
  if (max_rows < 1 || max_rows > 1048576)
    return process.Fail(absl::InvalidArgumentError("--max_rows is outside [1, 1048576]"));

  absl::StatusOr<EmbeddingModel> model = LoadModel(folder, process.logger());
  if (!model.ok()) return process.Fail(model.status());
  common::v1::ServerInfo info;
  info.set_model(ModelName(absl::GetFlag(FLAGS_model_name), folder));
  *info.mutable_fingerprint() = model->fingerprint;
  const ServerIdentity identity(std::move(info));

  EmbeddingServiceImpl service(*model->table, identity, max_rows);
  return process.Run({{&service, embedding::v1::EmbeddingService::service_full_name()}});
}

}  // namespace
}  // namespace phyllo

int main(int argc, char** argv) { return phyllo::Main(argc, argv); }
