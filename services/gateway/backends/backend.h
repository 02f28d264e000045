// What the gateway knows of a server behind it.
#ifndef PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_H_
#define PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "phyllo/embedding/v1/embedding.pb.h"
#include "phyllo/tokenizer/v1/tokenizer.pb.h"
#include "phyllo/transformer/v1/transformer.pb.h"

namespace phyllo {

enum class BackendKind { kTokenizer, kEmbedding, kTransformer };
inline constexpr std::array<BackendKind, 3> kAllBackendKinds = {
    BackendKind::kTokenizer, BackendKind::kEmbedding, BackendKind::kTransformer};

// "tokenizer", "embedding", "transformer".
absl::string_view BackendKindName(BackendKind kind);

// A plain value: one server as its last answer described it.
struct BackendState {
  BackendKind kind = BackendKind::kTokenizer;
  // "tokenizer #2": the second address of its flag. For messages to clients, which do not learn
  // addresses from errors.
  std::string name;
  std::string address;
  // UNAVAILABLE until the first answer of GetInfo and after an answer that failed.
  absl::Status health = absl::UnavailableError("not asked yet");
  // What it said of itself when it last answered: the one of these that belongs to its kind.
  tokenizer::v1::GetInfoResponse tokenizer;
  embedding::v1::GetInfoResponse embedding;
  transformer::v1::GetInfoResponse transformer;
  // Of requests under way there, as this gateway counts.
  int64_t outstanding_tokens = 0;

  bool available() const { return health.ok(); }
  const common::v1::ServerInfo& server() const;
};

// UNAVAILABLE: no server of that kind answers. The message and the ErrorInfo name the service.
absl::Status ServiceUnavailable(BackendKind kind);

// The status of a call to a backend as the client gets it. UNAVAILABLE, and CANCELLED that did not
// come from the client, become ServiceUnavailable; other codes pass with their details, the message
// with the service's name before it unless it is about the request.
absl::Status BackendCallStatus(BackendKind kind, const absl::Status& status);

}  // namespace phyllo

#endif  // PHYLLO_SERVICES_GATEWAY_BACKENDS_BACKEND_H_
