// Against a fake tokenizer over a socket.
#include "services/gateway/backends/decode_multiplexer.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"
#include "services/common/channel.h"
#include "services/common/metrics.h"
#include "services/common/server.h"
#include "services/gateway/testing/block_on.h"
#include "services/gateway/testing/fake_services.h"

namespace phyllo {
namespace {

using ::testing::HasSubstr;
using tokenizer::v1::DecodeSequenceRequest;
using tokenizer::v1::DecodeSequenceResponse;
using tokenizer::v1::DecodeSequencesRequest;
using tokenizer::v1::TokenizerService;

DecodeSequenceRequest First(const std::string& text) {
  DecodeSequenceRequest request;
  request.mutable_options();
  for (const char c : text) request.add_token_ids(static_cast<uint8_t>(c));
  return request;
}

DecodeSequenceRequest Next(const std::string& text) {
  DecodeSequenceRequest request = First(text);
  request.clear_options();
  return request;
}

DecodeSequenceRequest Last() {
  DecodeSequenceRequest request;
  request.set_finish(true);
  return request;
}

class DecodeMultiplexerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tokenizer_.on_decode = [this](const DecodeSequencesRequest& request) {
      {
        const absl::MutexLock lock(&mutex_);
        piece_counts_.push_back(request.pieces_size());
      }
      if (!hangs_ || go_on_.HasBeenNotified()) return;
      hanging_.Notify();
      go_on_.WaitForNotification();
    };
    Serve(UniqueAddress());
    stub_ = TokenizerService::NewStub(CreateChannel(server_->addresses()[0]));
    multiplexer_.emplace(*stub_, calls_);
  }

  void Serve(const std::string& address) {
    ServerOptions options;
    options.listen_addresses = {address};
    PHYLLO_ASSERT_OK_AND_ASSIGN(
        server_,
        Server::Start(options, {{&tokenizer_, TokenizerService::service_full_name()}}, metrics_));
  }

  std::string ReceiveText(DecodeSequence& sequence) {
    const absl::StatusOr<DecodeSequenceResponse> response = BlockOn(sequence.Receive());
    PHYLLO_EXPECT_OK(response.status());
    return response.ok() ? response->text_delta() : "";
  }

  std::vector<int> piece_counts() {
    const absl::MutexLock lock(&mutex_);
    return piece_counts_;
  }

  ParentCall parent_{nullptr};
  // Outlive the server, whose calls use them.
  absl::Mutex mutex_;
  std::vector<int> piece_counts_ ABSL_GUARDED_BY(mutex_);  // of the messages that came
  FakeTokenizer tokenizer_;
  bool hangs_ = false;  // set before the first Send: no answer before go_on_
  absl::Notification hanging_, go_on_;
  MetricRegistry metrics_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<TokenizerService::Stub> stub_;
  OpenCalls calls_;
  std::optional<DecodeMultiplexer> multiplexer_;
};

TEST_F(DecodeMultiplexerTest, AnswersEverySequenceForItself) {
  DecodeSequence one(*multiplexer_, parent_);
  DecodeSequence other(*multiplexer_, parent_);
  one.Send(First("one"));
  other.Send(First("h\xC3"));
  other.Send(Next("\xA4llo"));
  EXPECT_EQ(ReceiveText(other), "h");
  EXPECT_EQ(ReceiveText(other), "\xC3\xA4llo");
  EXPECT_EQ(ReceiveText(one), "one");
}

TEST_F(DecodeMultiplexerTest, SharesOneCallAmongSequences) {
  DecodeSequence one(*multiplexer_, parent_);
  DecodeSequence other(*multiplexer_, parent_);
  one.Send(First("a"));
  other.Send(First("b"));
  ReceiveText(one);
  ReceiveText(other);
  EXPECT_EQ(tokenizer_.decode_call_count, 1);
}

TEST_F(DecodeMultiplexerTest, CollectsRequestsWhileAnotherIsWritten) {
  hangs_ = true;
  DecodeSequence one(*multiplexer_, parent_);
  DecodeSequence two(*multiplexer_, parent_);
  DecodeSequence three(*multiplexer_, parent_);
  one.Send(First("1"));  // the tokenizer reads it and no other
  hanging_.WaitForNotification();
  one.Send(Next(std::string(8 << 20, 'x')));  // more than the connection takes unread
  two.Send(First("2"));
  three.Send(First("3"));
  go_on_.Notify();
  EXPECT_EQ(ReceiveText(three), "3");
  EXPECT_LT(piece_counts().size(), 4);
}

TEST_F(DecodeMultiplexerTest, ManyThreadsReceiveTheirOwn) {
  constexpr int kThreads = 16;
  constexpr int kRequests = 50;
  std::vector<std::string> texts(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      DecodeSequence sequence(*multiplexer_, parent_);
      const std::string letter(1, static_cast<char>('a' + i));
      for (int request = 0; request < kRequests; ++request) {
        sequence.Send(request == 0 ? First(letter) : Next(letter));
        texts[i] += ReceiveText(sequence);
      }
      sequence.Send(Last());
      texts[i] += ReceiveText(sequence);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(texts[i], std::string(kRequests, static_cast<char>('a' + i)));
}

TEST_F(DecodeMultiplexerTest, EndsSequenceThatIsGivenUp) {
  DecodeSequence kept(*multiplexer_, parent_);
  kept.Send(First("a"));
  ReceiveText(kept);
  {
    DecodeSequence given_up(*multiplexer_, parent_);
    given_up.Send(First("b"));
  }
  kept.Send(Next("c"));
  EXPECT_EQ(ReceiveText(kept), "c");
  int piece_count = 0;
  for (const int count : piece_counts()) piece_count += count;
  EXPECT_EQ(piece_count, 4) << "two of the first, one of the second, and its end";
}

TEST_F(DecodeMultiplexerTest, LeavesNoCallBehind) {
  {
    DecodeSequence sequence(*multiplexer_, parent_);
    sequence.Send(First("a"));
    ReceiveText(sequence);
    sequence.Send(Last());
    ReceiveText(sequence);
  }
  // Waits for calls that are under way.
  server_->Drain(absl::ZeroDuration(), absl::Minutes(10));
}

TEST_F(DecodeMultiplexerTest, NamesTokenizerThatIsGoneToAllSequences) {
  DecodeSequence one(*multiplexer_, parent_);
  DecodeSequence other(*multiplexer_, parent_);
  one.Send(First("a"));
  other.Send(First("b"));
  ReceiveText(one);
  ReceiveText(other);
  server_.reset();
  for (DecodeSequence* sequence : {&one, &other}) {
    sequence->Send(Next("c"));
    EXPECT_THAT(BlockOn(sequence->Receive()).status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("tokenizer")));
  }
}

TEST_F(DecodeMultiplexerTest, CallsAgainAfterBrokenCall) {
  const std::string address = server_->addresses()[0];
  DecodeSequence broken(*multiplexer_, parent_);
  broken.Send(First("a"));
  ReceiveText(broken);
  server_.reset();
  broken.Send(Next("b"));
  EXPECT_FALSE(BlockOn(broken.Receive()).ok());
  Serve(address);
  absl::StatusOr<DecodeSequenceResponse> response = absl::UnavailableError("");
  while (absl::IsUnavailable(response.status())) {  // until the channel has connected again
    DecodeSequence sequence(*multiplexer_, parent_);
    sequence.Send(First("c"));
    response = BlockOn(sequence.Receive());
  }
  PHYLLO_ASSERT_OK(response.status());
  EXPECT_EQ(response->text_delta(), "c");
}

TEST_F(DecodeMultiplexerTest, GivesUpWhenClientIsGone) {
  hangs_ = true;
  {
    DecodeSequence sequence(*multiplexer_, parent_);
    sequence.Send(First("a"));
    std::thread client([this] {
      hanging_.WaitForNotification();
      parent_.Cancel();
    });
    EXPECT_THAT(BlockOn(sequence.Receive()).status(), StatusIs(absl::StatusCode::kCancelled));
    client.join();
  }
  go_on_.Notify();
}

}  // namespace
}  // namespace phyllo
