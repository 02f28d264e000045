#include "services/gateway/backends/backend_set.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "services/common/channel.h"
#include "services/common/status_bridge.h"
#include "services/gateway/backends/path.h"

namespace phyllo {
namespace {

using embedding::v1::EmbeddingService;
using tokenizer::v1::TokenizerService;
using transformer::v1::TransformerService;

// One GetInfo under way. Lives until its answer came.
struct Check {
  grpc::ClientContext context;
  tokenizer::v1::GetInfoRequest tokenizer_request;
  embedding::v1::GetInfoRequest embedding_request;
  transformer::v1::GetInfoRequest transformer_request;
  BackendState answer;
};

}  // namespace

BackendSet::BackendSet(BackendSetOptions options) : options_(std::move(options)) {
  AddBackends(BackendKind::kTokenizer, options_.tokenizer_addresses);
  AddBackends(BackendKind::kEmbedding, options_.embedding_addresses);
  AddBackends(BackendKind::kTransformer, options_.transformer_addresses);
  checker_ = std::thread([this] { CheckForever(); });
}

BackendSet::~BackendSet() {
  {
    const absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  checker_.join();
}

absl::StatusOr<TransformerLease> BackendSet::AcquireTransformer() {
  const uint64_t turn = turn_.fetch_add(1);
  BackendState state;
  absl::StatusOr<int64_t> index;
  {
    const absl::MutexLock lock(&mutex_);
    index = ChooseTransformer(states_, turn);
    if (!index.ok()) return index.status();
    // Counted at once, so that two requests at the same moment do not choose the same server.
    ++states_[*index].outstanding_tokens;
    state = states_[*index];
  }
  return TransformerLease(*this, *index, std::move(state));
}

absl::StatusOr<DecodeMultiplexer*> BackendSet::PickDecoder(const BackendState& partner) {
  const absl::StatusOr<int64_t> index = Pick(BackendKind::kTokenizer, &partner);
  if (!index.ok()) return index.status();
  return connections_[*index].decoder.get();
}

std::vector<BackendState> BackendSet::Snapshot() const {
  const absl::MutexLock lock(&mutex_);
  return states_;
}

void BackendSet::AddBackends(BackendKind kind, const std::vector<std::string>& addresses) {
  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < addresses.size(); ++i) {
    BackendState state;
    state.kind = kind;
    state.name = absl::StrCat(BackendKindName(kind), " #", i + 1);
    state.address = addresses[i];
    states_.push_back(std::move(state));
    const std::shared_ptr<grpc::Channel> channel = CreateChannel(addresses[i]);
    Connection connection;
    if (kind == BackendKind::kTokenizer) {
      connection.tokenizer = TokenizerService::NewStub(channel);
      connection.decoder = std::make_unique<DecodeMultiplexer>(*connection.tokenizer, open_calls_);
    }
    if (kind == BackendKind::kEmbedding) connection.embedding = EmbeddingService::NewStub(channel);
    if (kind == BackendKind::kTransformer)
      connection.transformer = TransformerService::NewStub(channel);
    connections_.push_back(std::move(connection));
  }
}

absl::StatusOr<int64_t> BackendSet::Pick(BackendKind kind, const BackendState* partner) {
  const uint64_t turn = turn_.fetch_add(1);
  const absl::MutexLock lock(&mutex_);
  return ChooseByTurn(states_, kind, partner, turn);
}

Task<absl::Status> BackendSet::CallInTurn(BackendKind kind, const BackendState* partner,
                                          const ParentCall& parent, IndexCall call) {
  // Every failure takes one server away from the choice; the bound is for servers that come back
  // while others fail.
  for (size_t attempt = 0; attempt < connections_.size(); ++attempt) {
    const absl::StatusOr<int64_t> index = Pick(kind, partner);
    if (!index.ok()) co_return index.status();
    const std::unique_ptr<grpc::ClientContext> context = parent.MakeContext();
    const grpc::Status status =
        co_await UnaryCall([&](CallDone done) { call(*index, *context, std::move(done)); });
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE)
      co_return BackendCallStatus(kind, FromGrpcStatus(status));
    MarkUnavailable(*index);
  }
  co_return ServiceUnavailable(kind);
}

void BackendSet::MarkUnavailable(int64_t index) {
  const absl::MutexLock lock(&mutex_);
  states_[index].health = absl::UnavailableError("a call failed");
  check_soon_ = true;
}

void BackendSet::AddOutstanding(int64_t index, int64_t token_count) {
  const absl::MutexLock lock(&mutex_);
  states_[index].outstanding_tokens += token_count;
}

void BackendSet::CheckForever() {
  bool path_complete = false;
  while (true) {
    CheckAll();
    const std::vector<BackendState> states = Snapshot();
    const bool complete = ChooseTransformer(states, 0).ok();
    if (complete != path_complete && options_.on_path_change) options_.on_path_change(complete);
    path_complete = complete;

    bool all_available = true;
    for (const BackendState& state : states) all_available = all_available && state.available();
    const absl::MutexLock lock(&mutex_);
    const auto wake = [this]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || check_soon_; };
    mutex_.AwaitWithTimeout(absl::Condition(&wake),
                            all_available ? options_.check_interval : options_.retry_interval);
    if (stop_) return;
    check_soon_ = false;
  }
}

void BackendSet::CheckAll() {
  const std::vector<BackendState> states = Snapshot();
  std::vector<Check> checks(states.size());
  absl::BlockingCounter pending(static_cast<int>(states.size()));
  for (size_t i = 0; i < states.size(); ++i) {
    Check& check = checks[i];
    check.context.set_deadline(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(options_.check_timeout));
    const auto done = [&check, &pending](const grpc::Status& status) {
      check.answer.health = FromGrpcStatus(status);
      pending.DecrementCount();
    };
    const Connection& connection = connections_[i];
    if (connection.tokenizer) {
      connection.tokenizer->async()->GetInfo(&check.context, &check.tokenizer_request,
                                             &check.answer.tokenizer, done);
    } else if (connection.embedding) {
      connection.embedding->async()->GetInfo(&check.context, &check.embedding_request,
                                             &check.answer.embedding, done);
    } else {
      connection.transformer->async()->GetInfo(&check.context, &check.transformer_request,
                                               &check.answer.transformer, done);
    }
  }
  pending.Wait();

  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < states.size(); ++i) {
    BackendState& state = states_[i];
    const BackendState& answer = checks[i].answer;
    state.health = answer.health;
    if (!answer.available()) continue;
    state.tokenizer = answer.tokenizer;
    state.embedding = answer.embedding;
    state.transformer = answer.transformer;
  }
}

TransformerLease::TransformerLease(BackendSet& backends, int64_t index, BackendState state)
    : backends_(&backends), index_(index), state_(std::move(state)) {}

TransformerLease::~TransformerLease() {
  if (backends_ != nullptr) backends_->AddOutstanding(index_, -tokens_);
}

void TransformerLease::SetTokens(int64_t token_count) {
  backends_->AddOutstanding(index_, token_count - tokens_);
  tokens_ = token_count;
}

transformer::v1::TransformerService::Stub& TransformerLease::stub() const {
  return *backends_->connections_[index_].transformer;
}

OpenCalls& TransformerLease::calls() const { return backends_->open_calls_; }

void TransformerLease::MarkUnavailable() { backends_->MarkUnavailable(index_); }

}  // namespace phyllo
