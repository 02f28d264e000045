// When the requests of an open loop come.
#ifndef PHYLLO_CLIENTS_BENCH_ARRIVAL_SCHEDULE_H_
#define PHYLLO_CLIENTS_BENCH_ARRIVAL_SCHEDULE_H_

#include <cstdint>

#include "clients/bench/random_numbers.h"

namespace phyllo {

// A Poisson process: the gaps are exponential, so requests come in clusters, as those of many
// clients who know nothing of each other do. Thread-compatible.
class ArrivalSchedule {
 public:
  // `rate` is the mean number of arrivals a second, greater than 0.
  ArrivalSchedule(double rate, uint64_t seed) : rate_(rate), random_(seed, kStream) {}

  // Seconds from the start to the next arrival; never decreases.
  double Next() { return time_ += random_.Exponential() / rate_; }

 private:
  static constexpr uint64_t kStream = 0x61727269766573;  // not one of a chat

  const double rate_;
  RandomNumbers random_;
  double time_ = 0;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_BENCH_ARRIVAL_SCHEDULE_H_
