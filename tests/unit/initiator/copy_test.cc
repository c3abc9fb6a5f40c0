// The copy engine and byte access, over devices in memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "initiator/cli/copy_engine.h"
#include "initiator/mount/byte_access.h"
#include "initiator/session.h"
#include "tests/support/memory_device.h"

namespace openiser::initiator {
namespace {

using cli::CopyPlan;
using test::MemoryDevice;

void fill(std::vector<std::byte>& bytes, unsigned seed) {
  std::mt19937 random(seed);
  for (auto& b : bytes) b = static_cast<std::byte>(random() | 1);
}

CopyPlan plan(std::uint64_t length, std::uint32_t chunk = 4096) {
  CopyPlan p;
  p.length = length;
  p.chunk = chunk;
  p.depth = 3;
  return p;
}

TEST(Copy, MovesEveryByteAndFlushesOnce) {
  MemoryDevice from(100, 512), to(100, 512);
  fill(from.bytes(), 1);
  const auto result = cli::copy_blocks(from, to, plan(51200));
  EXPECT_EQ(from.bytes(), to.bytes());
  EXPECT_EQ(result.data, 51200u);
  EXPECT_EQ(to.flushes, 1);
}

TEST(Copy, SkipsZeroesWhereTheDestinationHasThem) {
  MemoryDevice from(32, 512), to(32, 512);
  fill(from.bytes(), 2);
  std::fill_n(from.bytes().begin() + 4096, 8192, std::byte{0});
  CopyPlan p = plan(16384);
  p.destination_zeroed = true;
  const auto result = cli::copy_blocks(from, to, p);
  EXPECT_EQ(result.holes, 8192u);
  EXPECT_EQ(to.writes, 2);
  EXPECT_EQ(to.zeroings, 0);
  EXPECT_EQ(from.bytes(), to.bytes());
}

TEST(Copy, ZeroesOverWhatADestinationHeld) {
  MemoryDevice from(16, 512), to(16, 512);
  fill(to.bytes(), 3);
  cli::copy_blocks(from, to, plan(8192));
  EXPECT_EQ(to.zeroings, 2);
  EXPECT_EQ(from.bytes(), to.bytes());
  to.change().write_same = false;
  fill(to.bytes(), 3);
  cli::copy_blocks(from, to, plan(8192));
  EXPECT_EQ(from.bytes(), to.bytes());
}

TEST(Copy, FillsTheLastBlockWithZeroes) {
  MemoryDevice from(1000, 1), to(2, 512);
  fill(from.bytes(), 4);
  fill(to.bytes(), 5);
  cli::copy_blocks(from, to, plan(1000));
  EXPECT_TRUE(std::equal(from.bytes().begin(), from.bytes().end(), to.bytes().begin()));
  for (std::size_t i = 1000; i < 1024; ++i) EXPECT_EQ(to.bytes()[i], std::byte{0});
}

TEST(Copy, NamesTheOffsetOfAFailureOnEitherSide) {
  for (const bool reading : {true, false}) {
    MemoryDevice from(64, 512), to(64, 512);
    fill(from.bytes(), 6);
    (reading ? from : to).fail_at = 9000;
    try {
      cli::copy_blocks(from, to, plan(32768));
      FAIL() << "not noticed";
    } catch (const SessionError& error) {
      EXPECT_NE(std::string(error.what()).find("byte 8192"), std::string::npos) << error.what();
    }
  }
}

TEST(Copy, VerifyFindsASingleWrongByteAnywhere) {
  MemoryDevice from(32, 512), to(32, 512);
  fill(from.bytes(), 7);
  to.bytes() = from.bytes();
  cli::compare_blocks(from, to, plan(16384));
  for (const std::size_t at : {0, 4095, 4096, 16383}) {
    to.bytes()[at] ^= std::byte{1};
    try {
      cli::compare_blocks(from, to, plan(16384));
      FAIL() << at;
    } catch (const SessionError& error) {
      EXPECT_NE(std::string(error.what()).find("byte " + std::to_string(at)), std::string::npos)
          << error.what();
    }
    to.bytes()[at] ^= std::byte{1};
  }
}

TEST(Copy, KeepsAFileSparse) {
  const auto path =
      std::filesystem::temp_directory_path() / ("copy_test." + std::to_string(getpid()));
  MemoryDevice from(4096, 512);
  from.bytes()[0] = std::byte{1};
  {
    const auto file = cli::open_file(path.string(), true, from.bytes().size());
    CopyPlan p = plan(from.bytes().size(), 65536);
    p.destination_zeroed = true;
    cli::copy_blocks(from, *file, p);
    cli::compare_blocks(from, *file, p);
  }
  struct stat st {};
  ASSERT_EQ(stat(path.c_str(), &st), 0);
  std::filesystem::remove(path);
  EXPECT_EQ(static_cast<std::size_t>(st.st_size), from.bytes().size());
  EXPECT_LE(st.st_blocks * 512, 131072);
}

TEST(ByteAccess, MatchesAModelUnderRandomRanges) {
  MemoryDevice device(64, 512);
  ByteAccess access(device);
  std::vector<std::byte> model(device.bytes().size());
  std::mt19937 random(8);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t offset = random() % model.size();
    const std::size_t length = random() % (std::min<std::size_t>(model.size() - offset, 3000) + 1);
    ErrorCode seen;
    const auto done = [&](ErrorCode error) { seen = error; };
    if (i % 3 == 0) {
      access.write_zeroes(offset, length, true, done);
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(offset), length, std::byte{0});
    } else if (i % 3 == 1) {
      std::vector<std::byte> data(length);
      fill(data, static_cast<unsigned>(i));
      access.write(offset, data, false, done);
      std::copy(data.begin(), data.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
    } else {
      std::vector<std::byte> data(length);
      access.read(offset, data, done);
      EXPECT_TRUE(std::equal(data.begin(), data.end(),
                             model.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
    ASSERT_FALSE(seen) << seen.message();
    ASSERT_EQ(device.bytes(), model) << i;
  }
}

}  // namespace
}  // namespace openiser::initiator
