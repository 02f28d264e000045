#include "model/base/digest.h"

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/base/check.h"

namespace phyllo {

// OpenSSL fails here only when memory is exhausted or its own build lacks SHA-256.
struct Sha256::Context {
  Context() : evp(EVP_MD_CTX_new()) {
    PHYLLO_CHECK(evp != nullptr);
    PHYLLO_CHECK(EVP_DigestInit_ex(evp, EVP_sha256(), nullptr) == 1);
  }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::Update(absl::Span<const uint8_t> bytes) {
  PHYLLO_CHECK(context_ != nullptr);
  PHYLLO_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::FinishHex() {
  PHYLLO_CHECK(context_ != nullptr);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  PHYLLO_CHECK(EVP_DigestFinal_ex(context_->evp, digest, &size) == 1);
  context_.reset();
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 digest;
  digest.Update(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  return digest.FinishHex();
}

}  // namespace phyllo
