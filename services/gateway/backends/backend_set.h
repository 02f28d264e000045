// The servers behind the gateway: connections, health, choice.
#ifndef PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_SET_H_
#define PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_SET_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "phyllo/embedding/v1/embedding.grpc.pb.h"
#include "phyllo/tokenizer/v1/tokenizer.grpc.pb.h"
#include "phyllo/transformer/v1/transformer.grpc.pb.h"
#include "services/gateway/async/client_calls.h"
#include "services/gateway/async/open_calls.h"
#include "services/gateway/async/parent_call.h"
#include "services/gateway/async/task.h"
#include "services/gateway/backends/backend.h"
#include "services/gateway/backends/decode_multiplexer.h"

namespace phyllo {

struct BackendSetOptions {
  std::vector<std::string> tokenizer_addresses;  // At least one of each kind.
  std::vector<std::string> embedding_addresses;
  std::vector<std::string> transformer_addresses;
  // Between two rounds of GetInfo while every server answers, and while one does not.
  absl::Duration check_interval = absl::Seconds(2);
  absl::Duration retry_interval = absl::Milliseconds(200);
  // Longest wait for an answer of GetInfo.
  absl::Duration check_timeout = absl::Seconds(2);
  // Called on the checking thread when a complete path appears (true) or disappears (false). May be
  // empty.
  std::function<void(bool path_complete)> on_path_change;
};

class TransformerLease;

// The methods that CallTokenizer and CallEmbedding take.
using TokenizerMethods = tokenizer::v1::TokenizerService::StubInterface::async_interface;
using EmbeddingMethods = embedding::v1::EmbeddingService::StubInterface::async_interface;

// Owns one channel to each server, what is shared on it, and a thread that asks all of them for
// GetInfo, again and again: a server that answers is available, one that does not is passed over
// until it does. Thread-safe. Outlives its leases.
class BackendSet {
 public:
  explicit BackendSet(BackendSetOptions options);
  ~BackendSet();
  BackendSet(const BackendSet&) = delete;
  BackendSet& operator=(const BackendSet&) = delete;

  // Chooses a transformer for a new request; see ChooseTransformer.
  absl::StatusOr<TransformerLease> AcquireTransformer() ABSL_LOCKS_EXCLUDED(mutex_);

  // A unary method of these interfaces.
  template <typename Methods, typename Request, typename Response>
  using Method = void (Methods::*)(grpc::ClientContext*, const Request*, Response*, CallDone);

  // Calls `method`, &TokenizerMethods::Encode for example, on behalf of `parent`, at the next
  // tokenizer or embedding in turn that belongs to `partner`'s model (any, if null). If that
  // answers UNAVAILABLE, the server is passed over from now on and the call is made to the next
  // one, until none is left: these services keep no state. Other statuses are returned as
  // BackendCallStatus gives them.
  template <typename Request, typename Response>
  Task<absl::Status> CallTokenizer(const BackendState* partner, const ParentCall& parent,
                                   Method<TokenizerMethods, Request, Response> method,
                                   const Request& request, Response& response)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return CallInTurn(BackendKind::kTokenizer, partner, parent,
                      [this, method, &request, &response](
                          int64_t index, grpc::ClientContext& context, CallDone done) {
                        (connections_[index].tokenizer->async()->*method)(
                            &context, &request, &response, std::move(done));
                      });
  }
  template <typename Request, typename Response>
  Task<absl::Status> CallEmbedding(const BackendState* partner, const ParentCall& parent,
                                   Method<EmbeddingMethods, Request, Response> method,
                                   const Request& request, Response& response)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    return CallInTurn(BackendKind::kEmbedding, partner, parent,
                      [this, method, &request, &response](
                          int64_t index, grpc::ClientContext& context, CallDone done) {
                        (connections_[index].embedding->async()->*method)(
                            &context, &request, &response, std::move(done));
                      });
  }

  // For a sequence, where the next tokenizer in turn decodes. As for CallTokenizer, but a failure
  // later is the caller's.
  absl::StatusOr<DecodeMultiplexer*> PickDecoder(const BackendState& partner)
      ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<BackendState> Snapshot() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class TransformerLease;

  // A server's connection; the stub of its kind is set, and a tokenizer's decoder.
  struct Connection {
    std::unique_ptr<tokenizer::v1::TokenizerService::Stub> tokenizer;
    std::unique_ptr<DecodeMultiplexer> decoder;
    std::unique_ptr<embedding::v1::EmbeddingService::Stub> embedding;
    std::unique_ptr<transformer::v1::TransformerService::Stub> transformer;
  };

  void AddBackends(BackendKind kind, const std::vector<std::string>& addresses);
  absl::StatusOr<int64_t> Pick(BackendKind kind, const BackendState* partner)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes `call` with the index of one server after the other until one answers something else than
  // UNAVAILABLE.
  using IndexCall = std::function<void(int64_t index, grpc::ClientContext&, CallDone)>;
  Task<absl::Status> CallInTurn(BackendKind kind, const BackendState* partner,
                                const ParentCall& parent, IndexCall call)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Passes the server over until it answers again, and asks it soon.
  void MarkUnavailable(int64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddOutstanding(int64_t index, int64_t token_count) ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckForever() ABSL_LOCKS_EXCLUDED(mutex_);
  void CheckAll() ABSL_LOCKS_EXCLUDED(mutex_);

  const BackendSetOptions options_;
  std::vector<Connection> connections_;  // By index; immutable after construction.
  OpenCalls open_calls_;                 // On the connections.
  std::atomic<uint64_t> turn_{0};
  mutable absl::Mutex mutex_;
  std::vector<BackendState> states_ ABSL_GUARDED_BY(mutex_);  // By index.
  bool check_soon_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread checker_;
};

// A request's claim on a transformer: its tokens count as outstanding there until the lease dies.
// Thread-compatible; const methods and MarkUnavailable may be called by several threads at once.
class TransformerLease {
 public:
  TransformerLease(TransformerLease&& other) noexcept
      : backends_(std::exchange(other.backends_, nullptr)),
        index_(other.index_),
        tokens_(other.tokens_),
        state_(std::move(other.state_)) {}
  TransformerLease& operator=(TransformerLease&&) = delete;
  ~TransformerLease();

  // Replaces the guess that was made before the prompt's length was known.
  void SetTokens(int64_t token_count);

  // What the server said of itself, as of the choice.
  const BackendState& state() const { return state_; }
  const transformer::v1::GetInfoResponse& info() const { return state_.transformer; }
  transformer::v1::TransformerService::Stub& stub() const;
  // Where calls of the stub count.
  OpenCalls& calls() const;

  // The server turned out to be down.
  void MarkUnavailable();

 private:
  friend class BackendSet;
  TransformerLease(BackendSet& backends, int64_t index, BackendState state);

  BackendSet* backends_;
  const int64_t index_;
  int64_t tokens_ = 1;
  BackendState state_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_SET_H_
