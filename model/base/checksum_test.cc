#include "model/base/checksum.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace phyllo {
namespace {

std::string ChecksumOf(absl::Span<const std::byte> bytes) {
  Checksum checksum;
  checksum.Update(bytes);
  return checksum.Finish();
}

std::vector<std::byte> Bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 251);
  return bytes;
}

uint32_t Lane(const std::string& checksum, size_t lane) {
  uint32_t crc = 0;
  std::memcpy(&crc, checksum.data() + 4 * lane, 4);
  return crc;
}

// A bit at a time, as RFC 3720 defines it.
uint32_t ReferenceCrc32c(const std::vector<std::byte>& bytes) {
  uint32_t crc = 0xffffffffu;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

TEST(ChecksumTest, IsTheCrc32cOfEveryEighthWord) {
  const std::vector<std::byte> bytes = Bytes(64 * 5);
  const std::string checksum = ChecksumOf(bytes);
  ASSERT_EQ(checksum.size(), 32);
  for (size_t lane = 0; lane < 8; ++lane) {
    std::vector<std::byte> words;
    for (size_t begin = 8 * lane; begin < bytes.size(); begin += 64)
      words.insert(words.end(), bytes.begin() + begin, bytes.begin() + begin + 8);
    EXPECT_EQ(Lane(checksum, lane), ReferenceCrc32c(words)) << lane;
  }
}

TEST(ChecksumTest, DoesNotDependOnHowTheBytesAreCut) {
  const std::vector<std::byte> bytes = Bytes(1000);
  Checksum checksum;
  absl::Span<const std::byte> rest = bytes;
  for (const size_t size : {64, 0, 320, 128, 488}) {
    checksum.Update(rest.first(size));
    rest.remove_prefix(size);
  }
  EXPECT_EQ(checksum.Finish(), ChecksumOf(bytes));
}

TEST(ChecksumTest, ChangesWithEveryBit) {
  std::vector<std::byte> bytes = Bytes(150);
  std::set<std::string> checksums = {ChecksumOf(bytes)};
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{1} << bit;
      EXPECT_TRUE(checksums.insert(ChecksumOf(bytes)).second) << i << ", " << bit;
      bytes[i] ^= std::byte{1} << bit;
    }
  }
}

}  // namespace
}  // namespace phyllo
