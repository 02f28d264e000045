#include "services/transformer/model_report.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/kv_cache/page_allocator.h"
#include "model/transformer/instruction_set.h"

namespace phyllo {
namespace {

// Which kernels run, as a gauge of 1 a module, and as the text for the log.
std::string ReportImplementations(const LocalStepModel& model, MetricRegistry& metrics) {
  std::vector<std::string> texts;
  for (const ModuleImplementation& module : ModuleImplementations(model.precision())) {
    metrics
        .AddGauge("phyllo_linear_implementation_info",
                  "Kernels that multiply the matrices of a module. Always 1.",
                  {{"module", module.module},
                   {"precision", module.precision},
                   {"implementation", module.implementation}})
        .Set(1);
    texts.push_back(absl::StrCat(module.module, ": ", module.implementation));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

void ReportReady(const LocalStepModel& model, const SequenceLimits& limits,
                 absl::Duration load_time, MetricRegistry& metrics, Logger& logger) {
  metrics.AddGauge("phyllo_load_seconds", "Time from the start until the model could serve.")
      .Set(absl::ToDoubleSeconds(load_time));
  metrics
      .AddGauge("phyllo_weights_from_packed_cache",
                "1 if the packed weights were read from the packed cache, 0 if they were packed "
                "from the checkpoint.")
      .Set(model.weights().image_status.ok() ? 1 : 0);
  int64_t page_count = 0;
  for (const KvPageGroup& group : model.page_groups()) page_count += group.allocator->page_count();
  logger.Info("model ready", {{"precision", model.precision().ToString()},
                              {"implementations", ReportImplementations(model, metrics)},
                              {"instruction_set", InstructionSetName()},
                              {"kv_pages", page_count},
                              {"kv_bytes_per_token", model.kv_bytes_per_token()},
                              {"max_sequence_length", limits.max_sequence_length},
                              {"load_seconds", load_time}});
}

}  // namespace phyllo
