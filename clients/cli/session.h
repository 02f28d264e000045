// A way to a gateway, and the services behind it if they were started here.
#ifndef PHYLLO_CLIENTS_CLI_SESSION_H_
#define PHYLLO_CLIENTS_CLI_SESSION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/command_line.h"
#include "clients/cli/terminal/interrupts.h"
#include "clients/cli/terminal/terminal.h"
#include "clients/cpp/client.h"
#include "clients/launcher/local_services.h"

namespace phyllo {

// Starts the services for `target` with progress on the terminal. `listen` is the gateway's
// address; empty: a private socket. Errors are those of LocalServices::Start; INTERNAL as well if
// the programs are not there, NOT_FOUND if the demo model is not.
absl::StatusOr<std::unique_ptr<LocalServices>> StartServices(const TargetOptions& target,
                                                             const std::string& listen,
                                                             Terminal& terminal,
                                                             Interrupts& interrupts);

// Owns the connection and the services, which stop with it. Thread-compatible; the client is
// thread-safe.
class Session {
 public:
  // Connects to the target's address, else starts services. Writes an error to the terminal (to
  // `out` as JSON if `json`), and returns null with `exit_code` set.
  static std::unique_ptr<Session> Open(const TargetOptions& target, bool json, Terminal& terminal,
                                       Interrupts& interrupts, int& exit_code);

  Client& client() { return *client_; }
  // Of the gateway.
  const std::string& address() const { return address_; }
  // OK unless a service that was started here has died: UNAVAILABLE that says what became of it.
  absl::Status CheckServices();
  // The status of a call, or, if a service that was started here has died, what became of it.
  absl::Status Explain(const absl::Status& status);

 private:
  Session(std::string address, std::unique_ptr<LocalServices> services,
          std::unique_ptr<Client> client);

  const std::string address_;
  const std::unique_ptr<LocalServices> services_;  // Null if the gateway was there before us.
  const std::unique_ptr<Client> client_;
};

// Writes what went wrong: "phyllo: NOT_FOUND: ..." to `err`, or {"error": ...} to `out` if `json`.
// Returns `exit_code`.
int Fail(const absl::Status& status, int exit_code, bool json, Terminal& terminal);

}  // namespace phyllo

#endif  // PHYLLO_CLIENTS_CLI_SESSION_H_
