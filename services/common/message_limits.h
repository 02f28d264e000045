// One bound for the size of a gRPC message, set on both ends of every connection.
#ifndef PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
#define PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_

#include <algorithm>
#include <cstdint>

namespace phyllo {

// Bytes. Large enough for a chunk of 4096 hidden states of 4096 floats; larger payloads are cut
// into chunks by their senders.
inline constexpr int kMaxMessageBytes = 64 * 1024 * 1024 + 64 * 1024;

// Threads of a server that read messages from the wire, on a machine of so many CPUs (whatever a
// quota leaves of them: gRPC does not ask): each may hold one that is not admitted or refused yet.
// gRPC 1.51 has one for two CPUs, within [2, 16], and our servers two pollers beside them.
inline constexpr int64_t ReadingThreads(int64_t machine_cpu_count) {
  return 2 + std::clamp<int64_t>(machine_cpu_count / 2, 2, 16);
}

// A client pings an idle connection at this interval; a server tolerates pings three times as
// often, so it never answers one with GOAWAY.
inline constexpr int kClientPingIntervalMs = 30'000;
inline constexpr int kServerMinPingIntervalMs = kClientPingIntervalMs / 3;
inline constexpr int kPingTimeoutMs = 20'000;

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
