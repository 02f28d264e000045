#include "model/base/digest.h"

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

// FIPS 180-4 test vectors.
TEST(Sha256Test, DigestsKnownVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, DependsNotOnPieces) {
  const std::string text(100000, 'a');
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  Sha256 digest;
  digest.Update(absl::MakeConstSpan(bytes, 63));
  digest.Update({});
  digest.Update(absl::MakeConstSpan(bytes + 63, text.size() - 63));
  EXPECT_EQ(digest.FinishHex(), Sha256Hex(text));
}

}  // namespace
}  // namespace phyllo
