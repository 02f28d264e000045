#include "clients/cli/inspect_command.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/request/proto_json.h"
#include "clients/cli/session.h"
#include "clients/cli/terminal/exit_code.h"
#include "clients/launcher/service_binaries.h"
#include "model/base/status_macros.h"
#include "model/checkpoint/checkpoint.h"
#include "model/config/decoder_description.h"
#include "model/config/model_config.h"
#include "model/config/summary/model_summary.h"
#include "model/config/summary/model_summary_text.h"
#include "model/gguf/model_files.h"
#include "model/tensor/linear_input.h"
#include "model/transformer/precision/model_precision.h"
#include "model/transformer/precision/packed_bytes.h"

namespace phyllo {
namespace {

// Everything the command shows, from the files of the folder.
absl::StatusOr<ModelSummary> ReadSummary(std::string folder) {
  if (folder.empty()) {
    PHYLLO_ASSIGN_OR_RETURN(folder, FindDemoModel());
  }
  PHYLLO_ASSIGN_OR_RETURN(const std::string json, ReadModelFile(folder, "config.json"));
  PHYLLO_ASSIGN_OR_RETURN(const ModelConfig config, ParseModelConfig(json));
  PHYLLO_ASSIGN_OR_RETURN(const DecoderDescription description, DescribeDecoder(config));
  PHYLLO_ASSIGN_OR_RETURN(const std::unique_ptr<Checkpoint> checkpoint, Checkpoint::Open(folder));
  ModelSummary summary = SummarizeModel(description, checkpoint.get(), DType::kF32);
  for (const Precision precision :
       {Precision::kF32, Precision::kBf16, Precision::kInt8, Precision::kInt4}) {
    summary.packed.push_back(
        {PrecisionName(precision), PackedWeightBytes(description, ModelPrecision::Of(precision))});
  }
  return summary;
}

nlohmann::ordered_json SummaryToJson(const ModelSummary& summary) {
  nlohmann::ordered_json modules = nlohmann::ordered_json::array();
  for (const ModuleSummary& module : summary.modules) {
    nlohmann::ordered_json object;
    if (module.layer >= 0) object["layer"] = module.layer;
    object["name"] = module.name;
    object["kind"] = module.kind;
    object["input_shape"] = module.input_shape;
    object["output_shape"] = module.output_shape;
    object["parameter_count"] = module.parameter_count;
    object["weight_bytes"] = module.weight_bytes;
    object["weight_type"] = module.weight_type;
    modules.push_back(std::move(object));
  }
  nlohmann::ordered_json packed = nlohmann::ordered_json::object();
  for (const PackedSummary& precision : summary.packed)
    packed[precision.precision] = precision.weight_bytes;
  return {{"modules", std::move(modules)},
          {"parameter_count", summary.parameter_count},
          {"weight_bytes", summary.weight_bytes},
          {"packed_weight_bytes", std::move(packed)},
          {"kv_bytes_per_token_f32", summary.kv_bytes_per_token_f32},
          {"kv_bytes_per_token_bf16", summary.kv_bytes_per_token_bf16},
          {"kv_bytes_per_token_int8", summary.kv_bytes_per_token_int8}};
}

}  // namespace

int InspectCommand(const InspectOptions& options, Terminal& terminal) {
  const absl::StatusOr<ModelSummary> summary = ReadSummary(options.model);
  if (!summary.ok()) return Fail(summary.status(), kExitModel, options.json, terminal);
  terminal.out << (options.json ? DumpJson(SummaryToJson(*summary)) + "\n"
                                : FormatModelSummary(*summary, options.all_layers))
               << std::flush;
  return kExitOk;
}

}  // namespace phyllo
