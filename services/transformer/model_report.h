// What the log and the metrics say of a model that is ready to serve.
#ifndef PHYLLO_SERVICES_TRANSFORMER_MODEL_REPORT_H_
#define PHYLLO_SERVICES_TRANSFORMER_MODEL_REPORT_H_

#include "absl/time/time.h"
#include "services/common/logger.h"
#include "services/common/metrics.h"
#include "services/transformer/engine/sequence.h"
#include "services/transformer/local_step_model.h"

namespace phyllo {

// Logs what the model computes with, and sets the gauges of its load. `load_time` is that from the
// start of the process.
void ReportReady(const LocalStepModel& model, const SequenceLimits& limits,
                 absl::Duration load_time, MetricRegistry& metrics, Logger& logger);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_MODEL_REPORT_H_
