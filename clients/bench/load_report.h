// The result of a load, for people and for programs.
#ifndef PHYLLO_CLIENTS_BENCH_LOAD_REPORT_H_
#define PHYLLO_CLIENTS_BENCH_LOAD_REPORT_H_

#include <string>

#include "clients/bench/load_options.h"
#include "clients/bench/load_result.h"
#include "nlohmann/json.hpp"
#include "phyllo/gateway/v1/gateway.pb.h"

namespace phyllo {

// "closed loop, 8 streams; prompt 128, output 64 tokens; seed 1".
std::string DescribeLoad(const LoadOptions& options);

// Lines of text, each with a newline.
std::string FormatLoadReport(const LoadOptions& options, const gateway::v1::GetModelResponse& model,
                             const LoadResult& result);

// One object; times are in milliseconds, as the names say.
nlohmann::ordered_json LoadReportToJson(const LoadOptions& options,
                                        const gateway::v1::GetModelResponse& model,
                                        const LoadResult& result);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_LOAD_REPORT_H_
