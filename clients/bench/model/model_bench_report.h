// The result of a bench in process, for people and for programs.
#ifndef PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_REPORT_H_
#define PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_REPORT_H_

#include <string>

#include "clients/bench/model/model_bench.h"
#include "nlohmann/json.hpp"

namespace phyllo {

// A table, each line with a newline: the median, least and greatest of the repetitions, and the
// median of their shares of the bound.
std::string FormatModelBench(const ModelBenchOptions& options, const ModelBenchResult& result);

// One object.
nlohmann::ordered_json ModelBenchToJson(const ModelBenchOptions& options,
                                        const ModelBenchResult& result);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_MODEL_MODEL_BENCH_REPORT_H_
