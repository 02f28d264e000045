// A checksum that tells damage of large files at the speed at which memory is read.
#ifndef PHYLLO_MODEL_BASE_CHECKSUM_H_
#define PHYLLO_MODEL_BASE_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace phyllo {

// Eight CRC-32C (RFC 3720) side by side: the n-th is that of the bytes [8 n, 8 n + 8) of every 64,
// with the last 64 filled up with zeros. No protection against whoever means to deceive; for that
// there is Sha256. Thread-compatible.
class Checksum {
 public:
  static constexpr size_t kBlockBytes = 64;

  // Adds bytes: a multiple of kBlockBytes but in the last call.
  void Update(absl::Span<const std::byte> bytes);

  // The checksum of all bytes so far, 32 bytes long, the first CRC first, each little-endian.
  std::string Finish() const;

 private:
  static constexpr size_t kLanes = 8;

  static std::array<uint64_t, kLanes> Start();

  std::array<uint64_t, kLanes> lanes_ = Start();  // the CRCs, before the inversion at their end
};

}  // namespace phyllo

#endif  // PHYLLO_MODEL_BASE_CHECKSUM_H_
