// Steps an engine by hand and plays the part of every client.
#ifndef PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_ENGINE_DRIVER_H_
#define PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_ENGINE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/transformer/engine/engine.h"
#include "services/transformer/engine/step_model.h"

namespace phyllo {

// A client of one sequence: takes its news after every step while `reads`, answers needs at once
// while `answers_needs`.
struct FakeClient {
  SequenceId id = 0;
  SequenceRequest request;
  std::shared_ptr<SequenceOutbox> outbox;
  bool reads = true;
  bool answers_needs = true;
  std::vector<RowRange> needs;
  std::vector<SampledToken> tokens;
  std::vector<SampledToken> scored_tokens;
  std::vector<PrefillProgress> progress;
  std::optional<SequenceResult> result;

  std::vector<int32_t> token_ids() const;
};

// Owns the engine, a clock that stands still, and the clients; borrows the model.
// Thread-compatible.
class EngineDriver {
 public:
  explicit EngineDriver(StepModel& model, EngineOptions options = {});

  // Greedy, `max_new_tokens` after `prompt`.
  static SequenceRequest Request(std::vector<int32_t> prompt, int64_t max_new_tokens);

  // Submits; the request must be accepted.
  FakeClient& Add(SequenceRequest request);
  absl::StatusOr<Engine::Submitted> TrySubmit(SequenceRequest request);
  // Sends the client's rows of `range`.
  void Provide(const FakeClient& client, RowRange range);

  // One step, then every client that reads takes its news. False if nothing changed.
  bool Step();
  // Steps until nothing changes; fails the test if that takes more than `limit` steps.
  void Drive(int64_t limit = 10000);

  Engine& engine() { return *engine_; }
  void Advance(absl::Duration duration) { now_ += duration; }
  absl::Time now() const { return now_; }

 private:
  bool Read(FakeClient& client);

  StepModel& model_;
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<Engine> engine_;
  std::vector<std::unique_ptr<FakeClient>> clients_;
};

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_TRANSFORMER_ENGINE_TESTING_ENGINE_DRIVER_H_
