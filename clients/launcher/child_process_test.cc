#include "clients/launcher/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "clients/launcher/temporary_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr absl::Duration kLong = absl::Seconds(20);

class ChildProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { PHYLLO_ASSERT_OK_AND_ASSIGN(folder_, TemporaryFolder::Create()); }

  std::string LogPath() const { return folder_->path() + "/log"; }
  std::string Log() const {
    std::ifstream file(LogPath());
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  absl::StatusOr<std::unique_ptr<ChildProcess>> Shell(const std::string& script) {
    return ChildProcess::Spawn({"/bin/sh", "-c", script}, LogPath());
  }

  std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(ChildProcessTest, ReportsExitCode) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("exit 7"));
  ASSERT_TRUE(child->WaitForEnd(kLong));
  EXPECT_THAT(child->HowItEnded(), Optional(std::string("exit code 7")));
}

TEST_F(ChildProcessTest, ReportsSignal) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("kill -KILL $$"));
  ASSERT_TRUE(child->WaitForEnd(kLong));
  EXPECT_THAT(child->HowItEnded(), Optional(HasSubstr("signal 9")));
}

TEST_F(ChildProcessTest, WritesOutputAndErrorsToTheLog) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("echo out; echo err >&2"));
  ASSERT_TRUE(child->WaitForEnd(kLong));
  EXPECT_EQ(Log(), "out\nerr\n");
}

TEST_F(ChildProcessTest, ReturnsNotFoundWhenThereIsNoProgram) {
  EXPECT_THAT(ChildProcess::Spawn({folder_->path() + "/none"}, LogPath()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(ChildProcessTest, ReturnsPermissionDeniedWhenTheFileIsNoProgram) {
  std::ofstream(folder_->path() + "/text") << "text";
  EXPECT_THAT(ChildProcess::Spawn({folder_->path() + "/text"}, LogPath()),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(ChildProcessTest, WaitGivesUpWhileTheProcessRuns) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("exec sleep 1000"));
  EXPECT_FALSE(child->WaitForEnd(absl::Milliseconds(20)));
  EXPECT_EQ(child->HowItEnded(), std::nullopt);
}

TEST_F(ChildProcessTest, TerminateAsksWithSigterm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("exec sleep 1000"));
  child->Terminate();
  ASSERT_TRUE(child->WaitForEnd(kLong));
  EXPECT_THAT(child->HowItEnded(), Optional(HasSubstr("signal 15")));
}

TEST_F(ChildProcessTest, KillEndsAProcessThatIgnoresSigterm) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child,
                              Shell("trap '' TERM; while :; do sleep 1000; done"));
  child->Terminate();
  child->Kill();
  ASSERT_TRUE(child->WaitForEnd(kLong));
  EXPECT_THAT(child->HowItEnded(), Optional(HasSubstr("signal")));
}

TEST_F(ChildProcessTest, RunsInItsOwnProcessGroup) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("exec sleep 1000"));
  EXPECT_EQ(getpgid(child->pid()), child->pid());
}

TEST_F(ChildProcessTest, DoesNotInheritABlockedSignal) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ASSERT_EQ(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
  PHYLLO_ASSERT_OK_AND_ASSIGN(const auto child, Shell("exec sleep 1000"));
  ASSERT_EQ(sigprocmask(SIG_SETMASK, &before, nullptr), 0);

  child->Terminate();

  EXPECT_TRUE(child->WaitForEnd(kLong));
}

TEST_F(ChildProcessTest, DestructorEndsTheProcess) {
  PHYLLO_ASSERT_OK_AND_ASSIGN(auto child, Shell("exec sleep 1000"));
  const pid_t pid = child->pid();
  child.reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(ChildProcessTest, DiesWithItsParent) {
  int held_by_grandchild[2];
  ASSERT_EQ(pipe(held_by_grandchild), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(held_by_grandchild[0]);
    const auto child = Shell("exec sleep 1000");
    kill(getpid(), child.ok() ? SIGKILL : SIGABRT);
  }
  close(held_by_grandchild[1]);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

  pollfd end = {held_by_grandchild[0], POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, 20'000), 1) << "the grandchild still holds the pipe";
  char byte;
  EXPECT_EQ(read(held_by_grandchild[0], &byte, 1), 0);
  close(held_by_grandchild[0]);
}

}  // namespace
}  // namespace phyllo
