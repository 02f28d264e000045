// One bound for the size of a gRPC message, set on both ends of every connection.
#ifndef PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
#define PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_

#include <cstdint>

namespace phyllo {

// Bytes. Large enough for a chunk of 4096 hidden states of 4096 floats; larger payloads are cut
// into chunks by their senders.
inline constexpr int kMaxMessageBytes = 64 * 1024 * 1024 + 64 * 1024;

// Threads of a server that read messages from the wire, with so many CPUs: each may hold one that
// is not admitted or refused yet.
inline constexpr int64_t ReadingThreads(int64_t cpu_count) { return 2 + cpu_count; }

// A client pings an idle connection at this interval; a server tolerates pings three times as
// often, so it never answers one with GOAWAY.
inline constexpr int kClientPingIntervalMs = 30'000;
inline constexpr int kServerMinPingIntervalMs = kClientPingIntervalMs / 3;
inline constexpr int kPingTimeoutMs = 20'000;

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
