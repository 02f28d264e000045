#include "services/common/internal/metrics_server.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "civetweb.h"

namespace phyllo {
namespace {

constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

// Called by civetweb in one of its threads. Answers GET and HEAD; returns the HTTP status, which is
// civetweb's convention.
int HandleScrape(mg_connection* connection, void* registry) {
  const absl::string_view method = mg_get_request_info(connection)->request_method;
  if (method != "GET" && method != "HEAD") {
    mg_send_http_error(connection, 405, "%s", "GET only");
    return 405;
  }
  const std::string body = static_cast<const MetricRegistry*>(registry)->SerializeText();
  mg_send_http_ok(connection, kContentType, static_cast<long long>(body.size()));
  if (method == "GET") mg_write(connection, body.data(), body.size());
  return 200;
}

// The port "/metrics" has no pages beside it: civetweb's own file serving is off without a document
// root, this makes it a plain 404.
int HandleOther(mg_connection* connection, void*) {
  mg_send_http_error(connection, 404, "%s", "only /metrics is here");
  return 404;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, const MetricRegistry& registry) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("metrics address \"", address, "\" is not host:port"));
  }
  const std::string host = address.substr(0, colon);
  const std::string port_only = address.substr(colon + 1);
  const std::string listen = host.empty() || host == "0.0.0.0" ? port_only : address;
  const char* options[] = {"listening_ports", listen.c_str(), "num_threads", "2", nullptr};

  mg_callbacks callbacks = {};
  auto server = std::unique_ptr<MetricsServer>(new MetricsServer());
  server->context_ = mg_start(&callbacks, nullptr, options);
  if (server->context_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on metrics address \"", address, "\""));
  }
  std::array<mg_server_port, 1> port = {};
  if (mg_get_server_ports(server->context_, static_cast<int>(port.size()), port.data()) < 1) {
    return absl::InternalError("civetweb does not say which port it bound");
  }
  server->address_ = absl::StrCat(host.empty() ? "0.0.0.0" : host, ":", port[0].port);
  mg_set_request_handler(server->context_, "/metrics$", HandleScrape,
                         const_cast<MetricRegistry*>(&registry));
  mg_set_request_handler(server->context_, "/", HandleOther, nullptr);
  return server;
}

MetricsServer::~MetricsServer() {
  if (context_ != nullptr) mg_stop(context_);
}

}  // namespace phyllo
