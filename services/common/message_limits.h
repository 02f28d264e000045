// One bound for the size of a gRPC message, set on both ends of every connection.
#ifndef PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
#define PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_

namespace phyllo {

// Bytes. Large enough for a chunk of 4096 hidden states of 4096 floats; larger payloads are cut
// into chunks by their senders.
inline constexpr int kMaxMessageBytes = 64 * 1024 * 1024 + 64 * 1024;

// A client pings an idle connection at this interval; a server tolerates pings three times as
// often, so it never answers one with GOAWAY.
inline constexpr int kClientPingIntervalMs = 30'000;
inline constexpr int kServerMinPingIntervalMs = kClientPingIntervalMs / 3;
inline constexpr int kPingTimeoutMs = 20'000;

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_MESSAGE_LIMITS_H_
