// CRC32C, serial numbers, the event ring and log levels.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/crc32c.h"
#include "base/event_ring.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/serial.h"

namespace openiser {
namespace {

std::uint32_t slow_crc32c(Bytes bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte b : bytes) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

TEST(Crc32c, GivesTheValuesOfRfc7143AppendixA4) {
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau) << "32 zeros";
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u) << "32 ones";
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu) << "ascending";
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu) << "descending";
}

TEST(Crc32c, IsTheSameInPiecesAtEveryCut) {
  std::vector<std::byte> bytes(600);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  const std::uint32_t whole = slow_crc32c(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Bytes view(bytes);
    EXPECT_EQ(Crc32c().update(view.first(cut)).update(view.subspan(cut)).value(), whole) << cut;
  }
}

TEST(Hex, IsTwoLowerCaseDigitsAByte) {
  EXPECT_EQ(to_hex(as_bytes(std::string_view("\0\x7f\xa5\xff", 4))), "007fa5ff");
  EXPECT_EQ(to_hex({}), "");
}

TEST(Serial, ComparesAcrossTheWrap) {
  EXPECT_TRUE(serial_less(0xffffffff, 0));
  EXPECT_FALSE(serial_less(0, 0xffffffff));
  EXPECT_FALSE(serial_less(5, 5));
  EXPECT_TRUE(serial_less_equal(5, 5));
  EXPECT_TRUE(serial_less(0x7fffffff, 0x80000000));
}

TEST(EventRing, KeepsTheLastSixtyFour) {
  EventRing ring;
  ManualClock clock;
  for (std::uint64_t i = 0; i < 100; ++i) ring.add(clock.now(), i == 99 ? "last" : "event", i);
  const std::string text = ring.text(clock.now());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 64);
  EXPECT_NE(text.find("last  99"), std::string::npos);
  EXPECT_EQ(text.find("event  35 "), std::string::npos);
  EXPECT_NE(text.find("event  36 "), std::string::npos);
}

TEST(Log, KnowsItsLevelsByName) {
  log::Level level = log::Level::info;
  EXPECT_TRUE(log::parse_level("debug", level));
  EXPECT_EQ(level, log::Level::debug);
  EXPECT_FALSE(log::parse_level("loud", level));
  EXPECT_EQ(level, log::Level::debug);
}

}  // namespace
}  // namespace openiser
