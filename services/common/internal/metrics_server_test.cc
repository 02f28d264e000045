#include "services/common/internal/metrics_server.h"

#include <string>

#include "civetweb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;

// The whole answer to GET `path`, headers and body.
std::string Get(const std::string& address, const std::string& path) {
  const size_t colon = address.rfind(':');
  char error[256] = "";
  mg_connection* const connection =
      mg_download(address.substr(0, colon).c_str(), std::stoi(address.substr(colon + 1)), 0, error,
                  sizeof(error), "GET %s HTTP/1.0\r\n\r\n", path.c_str());
  if (connection == nullptr) return error;
  std::string answer = std::to_string(mg_get_response_info(connection)->status_code) + "\n";
  char buffer[4096];
  for (int n = 0; (n = mg_read(connection, buffer, sizeof(buffer))) > 0;) answer.append(buffer, n);
  mg_close_connection(connection);
  return answer;
}

TEST(MetricsServerTest, ServesRegistryOnFreePort) {
  MetricRegistry metrics;
  metrics.AddCounter("phyllo_things_total", "Things.").Increment();
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, MetricsServer::Start("127.0.0.1:0", metrics));
  const std::string answer = Get(server->address(), "/metrics");
  EXPECT_THAT(answer, HasSubstr("200\n"));
  EXPECT_THAT(answer, HasSubstr("phyllo_things_total 1\n"));
}

TEST(MetricsServerTest, AnswersNotFoundForOtherPaths) {
  MetricRegistry metrics;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto server, MetricsServer::Start("127.0.0.1:0", metrics));
  EXPECT_THAT(Get(server->address(), "/metricsandmore"), HasSubstr("404\n"));
  EXPECT_THAT(Get(server->address(), "/"), HasSubstr("404\n"));
}

TEST(MetricsServerTest, ReturnsUnavailableWhenPortIsTaken) {
  MetricRegistry metrics;
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto first, MetricsServer::Start("127.0.0.1:0", metrics));
  EXPECT_THAT(MetricsServer::Start(first->address(), metrics),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(first->address())));
}

TEST(MetricsServerTest, RejectsAddressWithoutPort) {
  MetricRegistry metrics;
  EXPECT_THAT(MetricsServer::Start("localhost", metrics),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace phyllo
