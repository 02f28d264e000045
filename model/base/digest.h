// SHA-256, for the fingerprints that the services compare.
#ifndef PHYLLO_MODEL_BASE_DIGEST_H_
#define PHYLLO_MODEL_BASE_DIGEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace phyllo {

// Incremental SHA-256 (FIPS 180-4), by OpenSSL. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void Update(absl::Span<const uint8_t> bytes);

  // The digest of all bytes so far, as 64 lower-case hexadecimal digits. REQUIRES: called once,
  // last.
  std::string FinishHex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// The digest of `bytes` in one call.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_DIGEST_H_
