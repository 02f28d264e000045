#include "clients/launcher/local_services.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Every service is the fake one of testing/fake_service.cc.
class LocalServicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PHYLLO_ASSERT_OK_AND_ASSIGN(model_, TemporaryFolder::Create());
    options_.binaries.fill(std::string(getenv("TEST_SRCDIR")) +
                           "/phyllo/clients/launcher/testing/fake_service");
    options_.model_folder = model_->path();
    options_.start_timeout = absl::Seconds(30);
    options_.stop_timeout = absl::Milliseconds(500);
  }

  void Script(const std::string& service, const std::string& script) {
    std::ofstream(model_->path() + "/" + service + ".script") << script;
  }

  static bool Exists(const std::string& address) {
    struct stat info;
    return stat(address.substr(std::string("unix:").size()).c_str(), &info) == 0;
  }

  std::unique_ptr<TemporaryFolder> model_;
  LocalServicesOptions options_;
};

TEST_F(LocalServicesTest, RunsFourProcesses) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  std::set<pid_t> pids;
  for (const ServiceKind kind : kAllServiceKinds) {
    pids.insert(services->pid(kind));
    EXPECT_EQ(kill(services->pid(kind), 0), 0);
  }
  EXPECT_THAT(pids, SizeIs(4));
  PHYLLO_EXPECT_OK(services->CheckRunning());
}

TEST_F(LocalServicesTest, TellsTheGatewayWhereTheOthersListen) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  EXPECT_THAT(services->LastLogLines(ServiceKind::kGateway, 100),
              AllOf(HasSubstr("=" + services->address(ServiceKind::kTokenizer)),
                    HasSubstr("=" + services->address(ServiceKind::kEmbedding)),
                    HasSubstr("=" + services->address(ServiceKind::kTransformer))));
}

TEST_F(LocalServicesTest, SocketsAreInAPrivateFolder) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  const std::string& address = services->address(ServiceKind::kTransformer);
  ASSERT_THAT(address, StartsWith("unix:/"));
  struct stat info;
  ASSERT_EQ(stat(address.substr(5, address.rfind('/') - 5).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
}

TEST_F(LocalServicesTest, GatewayAddressHasTheRealPort) {
  options_.gateway_address = "127.0.0.1:0";
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  EXPECT_THAT(services->address(ServiceKind::kGateway),
              AllOf(StartsWith("127.0.0.1:"), Not(EndsWith(":0"))));
}

TEST_F(LocalServicesTest, PassesFurtherFlagsToOneService) {
  options_.flags[static_cast<int>(ServiceKind::kTransformer)] = {"--threads=2"};
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  EXPECT_THAT(services->LastLogLines(ServiceKind::kTransformer, 100),
              HasSubstr("flag --threads=2"));
  EXPECT_THAT(services->LastLogLines(ServiceKind::kTokenizer, 100), Not(HasSubstr("--threads")));
}

TEST_F(LocalServicesTest, ReportsProgressUntilAllServe) {
  std::vector<LaunchProgress> news;
  PHYLLO_ASSERT_OK(LocalServices::Start(
      options_, [&](const LaunchProgress& progress) { news.push_back(progress); }));
  ASSERT_FALSE(news.empty());
  EXPECT_EQ(news.front().states[static_cast<int>(ServiceKind::kGateway)], LaunchState::kNotStarted);
  for (const LaunchState state : news.back().states) EXPECT_EQ(state, LaunchState::kServing);
  for (const int64_t bytes : news.back().resident_bytes) EXPECT_GT(bytes, 0);
}

TEST_F(LocalServicesTest, AServiceThatServesIsNotReportedAsLoadingAgain) {
  std::vector<LaunchProgress> news;
  PHYLLO_ASSERT_OK(LocalServices::Start(
      options_, [&](const LaunchProgress& progress) { news.push_back(progress); }));
  for (size_t k = 1; k < news.size(); ++k) {
    for (int i = 0; i < kServiceKindCount; ++i) EXPECT_GE(news[k].states[i], news[k - 1].states[i]);
  }
}

TEST_F(LocalServicesTest, ReportsHowFarAServiceHasCome) {
  Script("transformer", "loading");
  std::atomic<bool> cancelled{false};
  options_.cancelled = &cancelled;
  LoadActivity activity;
  EXPECT_THAT(LocalServices::Start(options_,
                                   [&](const LaunchProgress& progress) {
                                     activity = progress.activities[2];
                                     if (!activity.name.empty()) cancelled = true;
                                   }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(activity.name, "packing");
  EXPECT_EQ(activity.done_bytes, 50);
  EXPECT_EQ(activity.total_bytes, 100);
}

TEST_F(LocalServicesTest, ReturnsNotFoundWithoutModelFolder) {
  options_.model_folder = model_->path() + "/none";
  EXPECT_THAT(LocalServices::Start(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(LocalServicesTest, ShowsTheLogOfAServiceThatFailsToStart) {
  Script("transformer", "fail");
  EXPECT_THAT(LocalServices::Start(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("transformer service ended with exit code 3"),
                             HasSubstr("model.safetensors is truncated"))));
}

TEST_F(LocalServicesTest, ReturnsDeadlineExceededWhenAServiceNeverServes) {
  Script("embedding", "never");
  options_.start_timeout = absl::Milliseconds(300);
  EXPECT_THAT(LocalServices::Start(options_), StatusIs(absl::StatusCode::kDeadlineExceeded));
}

TEST_F(LocalServicesTest, ReturnsCancelledWhenInterrupted) {
  Script("embedding", "never");
  std::atomic<bool> cancelled = false;
  options_.cancelled = &cancelled;
  EXPECT_THAT(LocalServices::Start(options_, [&](const LaunchProgress&) { cancelled = true; }),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(LocalServicesTest, NamesTheServiceThatDied) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  ASSERT_EQ(kill(services->pid(ServiceKind::kEmbedding), SIGKILL), 0);
  absl::Status status;
  for (const absl::Time deadline = absl::Now() + absl::Seconds(20);
       status.ok() && absl::Now() < deadline;) {
    status = services->CheckRunning();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("embedding service ended with signal 9")));
}

TEST_F(LocalServicesTest, RestartsAServiceThatDiedAtItsAddress) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  const pid_t died = services->pid(ServiceKind::kEmbedding);
  const std::string address = services->address(ServiceKind::kEmbedding);
  ASSERT_EQ(kill(died, SIGKILL), 0);
  std::string end;
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (end.empty() && absl::Now() < deadline) {
    PHYLLO_ASSERT_OK(services->RestartEnded([&](ServiceKind kind, const std::string& how_it_ended) {
      EXPECT_EQ(kind, ServiceKind::kEmbedding);
      end = how_it_ended;
    }));
  }
  EXPECT_EQ(end, "signal 9 (Killed)");
  EXPECT_NE(services->pid(ServiceKind::kEmbedding), died);
  EXPECT_EQ(services->address(ServiceKind::kEmbedding), address);
  PHYLLO_EXPECT_OK(services->CheckRunning());
}

TEST_F(LocalServicesTest, StopEndsAllAndTheDestructorRemovesTheFolder) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(auto services, LocalServices::Start(options_));
  const std::string address = services->address(ServiceKind::kTokenizer);
  std::vector<pid_t> pids;
  for (const ServiceKind kind : kAllServiceKinds) pids.push_back(services->pid(kind));

  services->Stop();
  for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), -1);

  services.reset();
  EXPECT_FALSE(Exists(address));
}

TEST_F(LocalServicesTest, StopKillsAServiceThatIgnoresSigterm) {
  Script("tokenizer", "stubborn");
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto services, LocalServices::Start(options_));
  const pid_t pid = services->pid(ServiceKind::kTokenizer);
  services->Stop();
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace phyllo
