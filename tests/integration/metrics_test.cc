// What Prometheus reads from the real transformer.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "tests/integration/running_services.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The port that the transformer says its metrics have, which it says when it serves already; 0 if
// it never does.
int MetricsPort(const RunningServices& services) {
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  do {
    for (absl::string_view line :
         absl::StrSplit(services.LastLogLines(ServiceKind::kTransformer, 1000), '\n')) {
      int port = 0;
      if (absl::ConsumePrefix(&line, "ready metrics 127.0.0.1:") && absl::SimpleAtoi(line, &port))
        return port;
    }
  } while (absl::Now() < deadline);
  return 0;
}

// The answer to GET /metrics, empty without one.
std::string GetMetrics(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    constexpr absl::string_view kRequest = "GET /metrics HTTP/1.0\r\n\r\n";
    EXPECT_EQ(write(connection, kRequest.data(), kRequest.size()),
              static_cast<ssize_t>(kRequest.size()));
    char buffer[4096];
    for (ssize_t n = 0; (n = read(connection, buffer, sizeof(buffer))) > 0;)
      answer.append(buffer, static_cast<size_t>(n));
  }
  close(connection);
  return answer;
}

// The lines of `text` that begin with `name`.
std::string LinesOf(const std::string& text, absl::string_view name) {
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    if (absl::StartsWith(line, name)) lines.append(line.data(), line.size()).push_back('\n');
  return lines;
}

TEST(MetricsTest, TheImplementationOfEachModuleIsShown) {
  ServiceFlags flags;
  flags[static_cast<int>(ServiceKind::kTransformer)] = {
      "--metrics_address=127.0.0.1:0", "--precision=int8,lm_head=bf16,kv_cache=int8"};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, RunningServices::Start(flags));
  const std::string lines =
      LinesOf(GetMetrics(MetricsPort(*services)), "phyllo_linear_implementation_info{");
  EXPECT_THAT(lines, AllOf(HasSubstr("module=\"attention\",precision=\"int8\"} 1\n"),
                           HasSubstr("module=\"feed_forward\",precision=\"int8\"} 1\n"),
                           HasSubstr("module=\"lm_head\",precision=\"bf16\"} 1\n"),
                           Not(HasSubstr("implementation=\"\"")), Not(HasSubstr("reference"))));
  // As the log says it.
  EXPECT_THAT(services->LastLogLines(ServiceKind::kTransformer, 1000),
              HasSubstr("implementations=\"attention: "));
}

TEST(MetricsTest, DraftsAreCountedAsUsageCountsThem) {
  ServiceFlags flags;
  flags[static_cast<int>(ServiceKind::kTransformer)] = {"--metrics_address=127.0.0.1:0"};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, RunningServices::Start(flags));
  // A text that repeats itself, so that there is something to draft from.
  gateway::v1::GenerateRequest request =
      GreedyRequest({100, 200, 300, 400, 100, 200, 300, 400, 100, 200, 300, 400, 100, 200}, 200);
  request.set_speculative_decoding(true);
  const Answer answer = services->Generate(request);
  PHYLLO_ASSERT_OK(answer.status);
  const common::v1::Usage& usage = answer.finished.usage();
  EXPECT_GT(usage.drafted_token_count(), 0);
  const std::string metrics = GetMetrics(MetricsPort(*services));
  EXPECT_EQ(LinesOf(metrics, "phyllo_drafted_tokens_total "),
            absl::StrCat("phyllo_drafted_tokens_total ", usage.drafted_token_count(), "\n"));
  EXPECT_EQ(LinesOf(metrics, "phyllo_accepted_tokens_total "),
            absl::StrCat("phyllo_accepted_tokens_total ", usage.accepted_token_count(), "\n"));
}

}  // namespace
}  // namespace phyllo
