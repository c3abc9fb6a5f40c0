// Files on tmpfs, which are served from a mapping where they hold data.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "target/store/blocking_io.h"
#include "tests/support/store_bench.h"
#include "tests/support/temporary_folder.h"

namespace openiser::target {
namespace {

using test::ByteVector;
using test::StoreBench;
using Operation = StoreRequest::Operation;

constexpr std::uint64_t kSize = 1 << 20;
constexpr std::size_t kPage = 4096;

ByteVector data_of(std::size_t size, std::size_t seed) {
  const ByteVector bytes = test::pattern(size + seed);
  return {bytes.begin() + static_cast<std::ptrdiff_t>(seed), bytes.end()};
}

class FileInMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "/dev/shm is not there";
    folder_.emplace("/dev/shm");
    path_ = folder_->path("disk.img");
    store_ = open_file_store(path_, {.size = kSize}).value();
  }
  // Allocated by the file, in bytes.
  std::uint64_t used() const {
    struct stat status {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  ByteVector in_file(std::uint64_t at, std::size_t size) const {
    ByteVector bytes(size);
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
    EXPECT_TRUE(file.good());
    return bytes;
  }

  std::optional<test::TemporaryFolder> folder_;
  std::string path_;
  std::unique_ptr<Store> store_;
  StoreBench bench_{StoreEngine::Kind::automatic};
};

TEST_F(FileInMemory, SecondWritesAreInTheFileToo) {
  const ByteVector first = data_of(3 * kPage, 1), second = data_of(kPage + 100, 2);
  ASSERT_FALSE(bench_.write(*store_, kPage, first));
  ASSERT_FALSE(bench_.write(*store_, kPage + 512, second, 700));
  EXPECT_EQ(in_file(kPage + 512, second.size()), second);
  ByteVector seen(3 * kPage);
  ASSERT_FALSE(bench_.read(*store_, kPage, seen, 1000));
  EXPECT_EQ(seen, in_file(kPage, seen.size()));
}

TEST_F(FileInMemory, WhatOthersWroteIsRead) {
  const ByteVector data = data_of(kPage, 3);
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(kPage);
    file.write(reinterpret_cast<const char*>(data.data()), kPage);
  }
  for (int i = 0; i < 3; ++i) {
    ByteVector seen(kPage);
    ASSERT_FALSE(bench_.read(*store_, kPage, seen));
    EXPECT_EQ(seen, data);
  }
}

TEST_F(FileInMemory, ReadingAHoleDoesNotFillIt) {
  ASSERT_FALSE(bench_.write(*store_, 0, data_of(kPage, 4)));
  const std::uint64_t before = used();
  for (int i = 0; i < 3; ++i) {
    ByteVector seen(8 * kPage, std::byte{1});
    ASSERT_FALSE(bench_.read(*store_, 0, seen));
    EXPECT_EQ(ByteVector(seen.begin() + kPage, seen.end()), ByteVector(7 * kPage));
  }
  EXPECT_EQ(used(), before);
}

TEST_F(FileInMemory, ReadingWhatWasDiscardedDoesNotFillIt) {
  ByteVector seen(16 * kPage);
  for (const Operation operation : {Operation::discard, Operation::write_zeroes}) {
    ASSERT_FALSE(bench_.write(*store_, 0, data_of(16 * kPage, 5)));
    ASSERT_FALSE(bench_.read(*store_, 0, seen));
    ASSERT_FALSE(bench_.other(*store_, operation, 0, 16 * kPage));
    ASSERT_FALSE(bench_.read(*store_, 0, seen));
    EXPECT_EQ(seen, ByteVector(16 * kPage));
    EXPECT_EQ(used(), 0U);
  }
}

TEST_F(FileInMemory, AFileCutShortIsAnErrorAndNotTheEnd) {
  ASSERT_FALSE(bench_.write(*store_, 0, data_of(16 * kPage, 6)));
  ByteVector seen(kPage);
  ASSERT_FALSE(bench_.read(*store_, 8 * kPage, seen));
  std::filesystem::resize_file(path_, 4 * kPage);
  EXPECT_EQ(bench_.read(*store_, 8 * kPage, seen).value(), EIO);
  EXPECT_FALSE(bench_.read(*store_, 2 * kPage, seen));
  // As on every file, a write makes it longer again.
  const ByteVector data = data_of(kPage, 7);
  EXPECT_FALSE(bench_.write(*store_, 8 * kPage, data));
  EXPECT_EQ(in_file(8 * kPage, kPage), data);
}

TEST_F(FileInMemory, WhatItHasGrownByIsServed) {
  ASSERT_TRUE(store_->grow(2 * kSize));
  const ByteVector data = data_of(2 * kPage, 8);
  for (int i = 0; i < 2; ++i) ASSERT_FALSE(bench_.write(*store_, kSize - kPage, data));
  ByteVector seen(2 * kPage);
  ASSERT_FALSE(bench_.read(*store_, kSize - kPage, seen));
  EXPECT_EQ(seen, data);
}

}  // namespace
}  // namespace openiser::target
