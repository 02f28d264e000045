#include "model/base/checksum.h"

#include <nmmintrin.h>

#include <cstring>

namespace phyllo {

std::array<uint64_t, Checksum::kLanes> Checksum::Start() {
  std::array<uint64_t, kLanes> lanes;
  lanes.fill(0xffffffffu);
  return lanes;
}

void Checksum::Update(absl::Span<const std::byte> bytes) {
  std::array<uint64_t, kLanes> lanes = lanes_;
  const auto add = [&lanes](const std::byte* block) {
    std::array<uint64_t, kLanes> words;
    std::memcpy(words.data(), block, sizeof(words));
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = _mm_crc32_u64(lanes[lane], words[lane]);
  };
  for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) add(bytes.data());
  if (!bytes.empty()) {
    std::array<std::byte, kBlockBytes> last = {};
    std::memcpy(last.data(), bytes.data(), bytes.size());
    add(last.data());
  }
  lanes_ = lanes;
}

std::string Checksum::Finish() const {
  std::string result;
  for (const uint64_t lane : lanes_) {
    const uint32_t crc = ~static_cast<uint32_t>(lane);
    result.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  }
  return result;
}

}  // namespace phyllo
