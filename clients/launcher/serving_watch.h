// Whether a server takes requests, as grpc.health.v1 tells.
#ifndef PHYLLO_CLIENTS_LAUNCHER_SERVING_WATCH_H_
#define PHYLLO_CLIENTS_LAUNCHER_SERVING_WATCH_H_

#include <memory>
#include <string>

namespace phyllo {

// Owns a Watch of one server's whole process, opened anew if it breaks. Thread-compatible.
class ServingWatch {
 public:
  // Connects to "host:port" or "unix:PATH" in the background.
  explicit ServingWatch(const std::string& address);
  // Ends the watch.
  ~ServingWatch();
  ServingWatch(const ServingWatch&) = delete;
  ServingWatch& operator=(const ServingWatch&) = delete;

  // Whether the last news was SERVING; never blocks.
  bool IsServing();

 private:
  class Call;
  struct Peer;

  const std::unique_ptr<Peer> peer_;
  std::unique_ptr<Call> call_;
};

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_LAUNCHER_SERVING_WATCH_H_
