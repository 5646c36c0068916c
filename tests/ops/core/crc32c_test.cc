#include "ops/core/crc32c.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace liquid::crc32c_test {
namespace {

uint32_t BitByBit(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
    }
  }
  return ~crc;
}

uint32_t Of(const std::vector<uint8_t>& bytes) {
  return Crc32c(ByteSpan(bytes.data(), bytes.size()));
}

// RFC 3720, appendix B.4.
TEST(Crc32cTest, PublishedValues) {
  std::vector<uint8_t> ascending(32), descending(32);
  std::iota(ascending.begin(), ascending.end(), 0);
  std::iota(descending.rbegin(), descending.rend(), 0);
  EXPECT_EQ(Of(std::vector<uint8_t>(32, 0x00)), 0x8A9136AAu);
  EXPECT_EQ(Of(std::vector<uint8_t>(32, 0xFF)), 0x62A8AB43u);
  EXPECT_EQ(Of(ascending), 0x46DD794Eu);
  EXPECT_EQ(Of(descending), 0x113FDB5Cu);
  const std::vector<uint8_t> read_command = {
      0x01, 0xC0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
      0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  EXPECT_EQ(Of(read_command), 0xD9963A56u);
  EXPECT_EQ(Crc32c(ByteSpan("123456789", 9)), 0xE3069283u);
  EXPECT_EQ(Crc32c(ByteSpan()), 0u);
}

// Lengths on both sides of every unrolled block of the fast paths.
TEST(Crc32cTest, EqualsTheDefinitionAtEveryLength) {
  std::vector<uint8_t> bytes;
  uint32_t state = 1;
  for (size_t size = 0; size < 7000; ++size) {
    if (size < 70 || size % 509 == 0 || (size + 3) % 1024 < 6) {
      ASSERT_EQ(Of(bytes), BitByBit(bytes)) << size << " bytes";
      ASSERT_EQ(ExtendCrc32cPortable(0, ByteSpan(bytes.data(), bytes.size())),
                BitByBit(bytes))
          << size << " bytes";
    }
    state = state * 1664525 + 1013904223;
    bytes.push_back(static_cast<uint8_t>(state >> 24));
  }
}

TEST(Crc32cTest, ExtendsAtEverySplit) {
  std::vector<uint8_t> bytes(4000);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * i >> 3);
  }
  const uint32_t whole = Of(bytes);
  for (size_t at = 0; at <= bytes.size(); at += 7) {
    const uint32_t first = Crc32c(ByteSpan(bytes.data(), at));
    ASSERT_EQ(
        ExtendCrc32c(first, ByteSpan(bytes.data() + at, bytes.size() - at)),
        whole)
        << "split at " << at;
  }
}

}  // namespace
}  // namespace liquid::crc32c_test
