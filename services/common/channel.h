// Client side of a connection between two of our processes; every option that must agree with the
// server's is set here.
#ifndef PHYLLO_SERVICES_COMMON_CHANNEL_H_
#define PHYLLO_SERVICES_COMMON_CHANNEL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"

namespace phyllo {

// `address` is "host:port", "unix:PATH" or any other gRPC target. The channel connects on its first
// call, gives an attempt to connect 5 s, re-connects by itself with a back-off of 0.1 to 2 s, and
// shares no connection with other channels of the process. Never null; a bad address shows as
// UNAVAILABLE.
std::shared_ptr<grpc::Channel> CreateChannel(const std::string& address);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_COMMON_CHANNEL_H_
