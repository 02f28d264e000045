#ifndef PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_TEXT_H_
#define PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_TEXT_H_

#include <string>

#include "model/config/summary/model_summary.h"

namespace phyllo {

// The summary as text: a table of fixed-width columns, then the totals. Layers that equal their
// predecessor are printed as one line, "layers.1 .. layers.5: as layers.0", unless `all_layers`.
std::string FormatModelSummary(const ModelSummary& summary, bool all_layers);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_CONFIG_SUMMARY_MODEL_SUMMARY_TEXT_H_
