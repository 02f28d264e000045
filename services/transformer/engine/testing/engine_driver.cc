#include "services/transformer/engine/testing/engine_driver.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "model/base/status_matchers.h"

namespace phyllo {

std::vector<int32_t> FakeClient::token_ids() const {
  std::vector<int32_t> ids;
  for (const SampledToken& token : tokens) ids.push_back(token.token_id);
  return ids;
}

EngineDriver::EngineDriver(StepModel& model, EngineOptions options) : model_(model) {
  options.now = [this] { return now_; };
  options.max_prefill_rows = std::min(options.max_prefill_rows, model.sizes().max_rows);
  options.max_sequences = std::min(options.max_sequences, model.sizes().max_rows);
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(model, std::move(options));
  PHYLLO_EXPECT_OK(engine);
  engine_ = *std::move(engine);
}

SequenceRequest EngineDriver::Request(std::vector<int32_t> prompt, int64_t max_new_tokens) {
  SequenceRequest request;
  request.prompt_token_ids = std::move(prompt);
  request.max_new_tokens = max_new_tokens;
  request.sampling.temperature = 0.0f;
  return request;
}

absl::StatusOr<Engine::Submitted> EngineDriver::TrySubmit(SequenceRequest request) {
  return engine_->Submit(std::move(request), [](NewsUrgency) {});
}

FakeClient& EngineDriver::Add(SequenceRequest request) {
  clients_.push_back(std::make_unique<FakeClient>());
  FakeClient& client = *clients_.back();
  client.request = request;
  absl::StatusOr<Engine::Submitted> submitted = TrySubmit(std::move(request));
  PHYLLO_EXPECT_OK(submitted);
  client.id = submitted->id;
  client.outbox = submitted->outbox;
  return client;
}

void EngineDriver::Provide(const FakeClient& client, RowRange range) {
  const absl::Span<const int32_t> prompt = client.request.prompt_token_ids;
  std::vector<float> rows(range.count * model_.sizes().hidden_size);
  PHYLLO_EXPECT_OK(model_.Embed(prompt.subspan(range.first_position, range.count),
                                range.first_position, absl::MakeSpan(rows)));
  engine_->ProvideHiddenStates(client.id, range.first_position, std::move(rows));
}

bool EngineDriver::Read(FakeClient& client) {
  if (!client.reads) return false;
  const SequenceNews news = client.outbox->Take();
  EXPECT_TRUE(!client.result || news.empty()) << "news after the result";
  for (const RowRange need : news.needs) {
    client.needs.push_back(need);
    if (client.answers_needs) Provide(client, need);
  }
  if (!news.tokens.empty()) {
    EXPECT_EQ(
        news.first_token_index,
        static_cast<int64_t>(client.request.generated_token_ids.size() + client.tokens.size()));
  }
  client.tokens.insert(client.tokens.end(), news.tokens.begin(), news.tokens.end());
  client.scored_tokens.insert(client.scored_tokens.end(), news.scored_tokens.begin(),
                              news.scored_tokens.end());
  if (news.prefill_progress) client.progress.push_back(*news.prefill_progress);
  if (news.result) client.result = news.result;
  return !news.needs.empty() && client.answers_needs;
}

bool EngineDriver::Step() {
  bool changed = engine_->RunOneStep();
  for (const auto& client : clients_) changed = Read(*client) || changed;
  return changed;
}

void EngineDriver::Drive(int64_t limit) {
  for (int64_t i = 0; i < limit; ++i) {
    if (!Step()) return;
  }
  ADD_FAILURE() << "the engine still changes after " << limit << " steps";
}

}  // namespace phyllo
