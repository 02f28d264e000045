// From a generation's messages to the whole answer.
#ifndef PHYLLO_CLIENTS_CPP_ANSWER_COLLECTOR_H_
#define PHYLLO_CLIENTS_CPP_ANSWER_COLLECTOR_H_

#include <cstdint>
#include <map>

#include "phyllo/gateway/v1/gateway.pb.h"
#include "phyllo/gateway/v1/generate.pb.h"

namespace phyllo {

// Puts deltas together by choice. Thread-compatible.
class AnswerCollector {
 public:
  // Takes the next message of the stream.
  void Add(const gateway::v1::GenerateResponse& message);
  // What has come so far, by choice index; a choice that is not finished has no `finished`. Leaves
  // the collector empty.
  gateway::v1::GenerateUnaryResponse TakeAnswer();

 private:
  std::map<int32_t, gateway::v1::Choice> choices_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CPP_ANSWER_COLLECTOR_H_
