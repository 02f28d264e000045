// Against a listening socket that speaks no HTTP/2: the kernel completes connections to it, nobody
// answers on them.
#include "services/common/channel.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

class ChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ASSERT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener_, 8), 0);
    ASSERT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    channel_ = CreateChannel("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  }

  void TearDown() override { close(listener_); }

  // Lets the channel connect for up to `time`. Returns the connection, or -1.
  int AcceptWithin(std::chrono::seconds time) {
    const auto end = std::chrono::system_clock::now() + time;
    pollfd waiting = {.fd = listener_, .events = POLLIN, .revents = 0};
    while (std::chrono::system_clock::now() < end) {
      if (poll(&waiting, 1, 0) == 1) return accept(listener_, nullptr, nullptr);
      // gRPC does its work in the threads that wait for it.
      channel_->WaitForStateChange(channel_->GetState(/*try_to_connect=*/true),
                                   std::chrono::system_clock::now() + kPollInterval);
    }
    return -1;
  }

  static constexpr std::chrono::milliseconds kPollInterval{20};
  int listener_ = -1;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(ChannelTest, GivesSlowServerMoreThanASecond) {
  channel_->GetState(/*try_to_connect=*/true);
  ASSERT_TRUE(channel_->WaitForStateChange(
      GRPC_CHANNEL_IDLE, std::chrono::system_clock::now() + std::chrono::seconds(30)));
  EXPECT_FALSE(channel_->WaitForStateChange(
      GRPC_CHANNEL_CONNECTING, std::chrono::system_clock::now() + std::chrono::milliseconds(1500)))
      << "the attempt ended";
}

TEST_F(ChannelTest, ConnectsAgainBeforeAnAttemptsTimeIsOver) {
  const int refused = AcceptWithin(std::chrono::seconds(30));
  ASSERT_GE(refused, 0);
  close(refused);
  const int next = AcceptWithin(std::chrono::seconds(3));
  EXPECT_GE(next, 0);
  close(next);
}

}  // namespace
}  // namespace phyllo
