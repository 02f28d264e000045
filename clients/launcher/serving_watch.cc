#include "clients/launcher/serving_watch.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "services/common/channel.h"

namespace phyllo {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

struct ServingWatch::Peer {
  const std::unique_ptr<Health::Stub> stub;
};

// One stream. Its reactions run on gRPC's threads until OnDone, which the destructor waits for.
class ServingWatch::Call final : public grpc::ClientReadReactor<HealthCheckResponse> {
 public:
  explicit Call(Health::Stub& stub) {
    context_.set_wait_for_ready(true);
    stub.async()->Watch(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }

  ~Call() override {
    context_.TryCancel();
    done_.WaitForNotification();
  }

  bool serving() const { return serving_; }
  bool ended() const { return done_.HasBeenNotified(); }

  void OnReadDone(bool ok) override {
    serving_ = ok && response_.status() == HealthCheckResponse::SERVING;
    if (ok) StartRead(&response_);
  }

  void OnDone(const grpc::Status&) override { done_.Notify(); }

 private:
  grpc::ClientContext context_;
  const HealthCheckRequest request_;
  HealthCheckResponse response_;
  std::atomic<bool> serving_{false};
  absl::Notification done_;
};

ServingWatch::ServingWatch(const std::string& address)
    : peer_(new Peer{Health::NewStub(CreateChannel(address))}),
      call_(std::make_unique<Call>(*peer_->stub)) {}

ServingWatch::~ServingWatch() = default;

bool ServingWatch::IsServing() {
  if (call_->ended()) call_ = std::make_unique<Call>(*peer_->stub);
  return call_->serving();
}

}  // namespace phyllo
