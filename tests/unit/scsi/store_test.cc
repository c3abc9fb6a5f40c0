// Stores by themselves, over both engines.
#include "target/store/store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/descriptor.h"
#include "target/store/blocking_io.h"
#include "target/store/direct_io.h"
#include "tests/support/store_bench.h"
#include "tests/support/temporary_folder.h"

namespace openiser::target {
namespace {

using test::ByteVector;
using Operation = StoreRequest::Operation;
using Kind = StoreEngine::Kind;

using test::SignalledRequest;
using test::StoreBench;

constexpr std::uint64_t kSize = 4 << 20;

// --- each store against a model, on each engine ---

struct Arrangement {
  const char* name;
  Kind engine;
  enum class What { memory, file, tmpfs_file } store;
};

class AnyStore : public ::testing::TestWithParam<Arrangement> {
 protected:
  AnyStore() : bench(GetParam().engine) {}
  void SetUp() override {
    if (GetParam().store == Arrangement::What::memory) {
      store = make_memory_store(kSize);
      return;
    }
    const bool tmpfs = GetParam().store == Arrangement::What::tmpfs_file;
    if (tmpfs && access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm here";
    folder = std::make_unique<test::TemporaryFolder>(tmpfs ? "/dev/shm" : "");
    auto opened = open_file_store(folder->path("disk"), {.size = kSize});
    ASSERT_TRUE(opened) << opened.error().message();
    store = std::move(*opened);
  }

  std::unique_ptr<test::TemporaryFolder> folder;
  StoreBench bench;
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, AnyStore,
    ::testing::Values(Arrangement{"memory", Kind::threads, Arrangement::What::memory},
                      Arrangement{"file_threads", Kind::threads, Arrangement::What::file},
                      Arrangement{"file_uring", Kind::automatic, Arrangement::What::file},
                      Arrangement{"tmpfs_threads", Kind::threads, Arrangement::What::tmpfs_file},
                      Arrangement{"tmpfs_uring", Kind::automatic, Arrangement::What::tmpfs_file}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(AnyStore, SaysWhatItIs) {
  const StoreProperties properties = store->properties();
  EXPECT_EQ(properties.size, kSize);
  EXPECT_FALSE(properties.read_only);
  EXPECT_TRUE(properties.discard);
  EXPECT_FALSE(properties.description.empty());
}

TEST_P(AnyStore, IsZeroAtFirst) {
  ByteVector bytes(kSize, std::byte{0xff});
  EXPECT_FALSE(bench.read(*store, 0, bytes, 1 << 20));
  EXPECT_TRUE(bytes == ByteVector(kSize));
}

TEST_P(AnyStore, BehavesAsTheModel) {
  std::mt19937 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  ByteVector model(kSize);
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t blocks = 1 + below(round % 20 == 0 ? 2000 : 64);
    const std::uint64_t at = below(kSize / 512 - blocks + 1) * 512;
    const std::uint64_t size = blocks * 512;
    const auto place = model.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(5)) {
      case 0:
      case 1: {
        ByteVector bytes(size);
        for (std::byte& b : bytes) b = static_cast<std::byte>(random());
        ASSERT_FALSE(bench.write(*store, at, bytes, 512 * (1 + below(16)), below(8) == 0));
        std::copy(bytes.begin(), bytes.end(), place);
        break;
      }
      case 2:
        ASSERT_FALSE(bench.other(*store, Operation::discard, at, size));
        std::fill_n(place, size, std::byte{0});
        break;
      case 3:
        ASSERT_FALSE(bench.other(*store, Operation::write_zeroes, at, size));
        std::fill_n(place, size, std::byte{0});
        break;
      default: {
        ByteVector bytes(size);
        ASSERT_FALSE(bench.read(*store, at, bytes, 512 * (1 + below(16))));
        ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), place)) << "round " << round;
      }
    }
  }
  ASSERT_FALSE(bench.other(*store, Operation::flush, 0, 0));
  ByteVector all(kSize);
  ASSERT_FALSE(bench.read(*store, 0, all, 1 << 20));
  EXPECT_TRUE(all == model);
}

TEST_P(AnyStore, MorePiecesThanOneCallTakes) {
  ByteVector bytes = test::pattern(1000 * 7);
  EXPECT_FALSE(bench.write(*store, 512, bytes, 7));
  ByteVector back(bytes.size());
  EXPECT_FALSE(bench.read(*store, 512, back, 11));
  EXPECT_EQ(back, bytes);
}

TEST_P(AnyStore, DiscardOfUnalignedRangeKeepsItsNeighbours) {
  ByteVector bytes(3 * 4096, std::byte{0x55});
  ASSERT_FALSE(bench.write(*store, 0, bytes));
  ASSERT_FALSE(bench.other(*store, Operation::discard, 512, 2 * 4096));
  std::fill_n(bytes.begin() + 512, 2 * 4096, std::byte{0});
  ByteVector back(bytes.size());
  ASSERT_FALSE(bench.read(*store, 0, back));
  EXPECT_EQ(back, bytes);
}

TEST_P(AnyStore, ManyAtOnce) {
  constexpr std::size_t kRequests = 700;
  std::vector<ByteVector> memory;
  std::vector<std::unique_ptr<SignalledRequest>> requests;
  for (std::size_t i = 0; i < kRequests; ++i) memory.emplace_back(512, static_cast<std::byte>(i));
  for (std::size_t i = 0; i < kRequests; ++i) {
    requests.push_back(
        std::make_unique<SignalledRequest>(bench.loop(), Operation::write, i * 512, 512));
    requests.back()->use(memory[i], 512);
    store->submit(bench.engine(), *requests.back());
  }
  bench.engine().flush();
  for (const auto& request : requests) {
    bench.finish(*request);
    EXPECT_FALSE(request->error);
  }
  ByteVector all(kRequests * 512);
  ASSERT_FALSE(bench.read(*store, 0, all, all.size()));
  for (std::size_t i = 0; i < kRequests; ++i) {
    ASSERT_EQ(all[i * 512], static_cast<std::byte>(i));
    ASSERT_EQ(all[i * 512 + 511], static_cast<std::byte>(i));
  }
}

// --- files ---

class FileStoreTest : public ::testing::TestWithParam<Kind> {
 protected:
  FileStoreTest() : bench(GetParam()) {}
  std::string path() const { return folder.path("disk"); }
  std::unique_ptr<Store> open_store(std::uint64_t size, bool read_only = false) {
    auto opened = open_file_store(path(), {.size = size, .read_only = read_only});
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? std::move(*opened) : nullptr;
  }
  int error_of(std::uint64_t size, bool read_only = false) {
    const auto opened = open_file_store(path(), {.size = size, .read_only = read_only});
    return opened ? 0 : opened.error().value();
  }

  test::TemporaryFolder folder;
  StoreBench bench;
};

INSTANTIATE_TEST_SUITE_P(Engines, FileStoreTest, ::testing::Values(Kind::threads, Kind::automatic),
                         [](const auto& info) {
                           return info.param == Kind::threads ? "threads" : "automatic";
                         });

TEST_P(FileStoreTest, MakesASparseFile) {
  const auto store = open_store(std::uint64_t{1} << 40);
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_size, std::int64_t{1} << 40);
  EXPECT_LT(status.st_blocks, 1024);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_P(FileStoreTest, KeepsItsBytes) {
  const ByteVector bytes = test::pattern(8192);
  ASSERT_FALSE(bench.write(*open_store(kSize), 4096, bytes));
  ByteVector back(8192);
  ASSERT_FALSE(bench.read(*open_store(0), 4096, back));
  EXPECT_EQ(back, bytes);
}

TEST_P(FileStoreTest, GrowsAFileThatIsTooShort) {
  open_store(4096);
  EXPECT_EQ(open_store(kSize)->properties().size, kSize);
  EXPECT_EQ(std::filesystem::file_size(path()), kSize);
}

TEST_P(FileStoreTest, NeverCutsAFileThatIsLonger) {
  open_store(kSize);
  EXPECT_EQ(open_store(4096)->properties().size, 4096U);
  EXPECT_EQ(std::filesystem::file_size(path()), kSize);
}

TEST_P(FileStoreTest, WithoutASizeItFollowsTheFile) {
  open_store(kSize);
  const auto store = open_store(0);
  std::filesystem::resize_file(path(), 2 * kSize);
  EXPECT_EQ(store->properties().size, 2 * kSize);
  ByteVector bytes(512, std::byte{1});
  EXPECT_FALSE(bench.read(*store, 2 * kSize - 512, bytes));
}

TEST_P(FileStoreTest, WithASizeItKeepsIt) {
  const auto store = open_store(kSize);
  std::filesystem::resize_file(path(), 2 * kSize);
  EXPECT_EQ(store->properties().size, kSize);
}

TEST_P(FileStoreTest, GrowsWhenAsked) {
  auto store = open_file_store(path(), {.size = 8192});
  ASSERT_TRUE(store);
  EXPECT_TRUE((*store)->grow(65536));
  EXPECT_EQ((*store)->properties().size, 65536U);
  EXPECT_EQ(std::filesystem::file_size(path()), 65536U);
  EXPECT_TRUE((*store)->grow(4096));
  EXPECT_EQ((*store)->properties().size, 65536U) << "never cut";
}

TEST(Stores, WithoutAFileNothingGrows) {
  for (const auto& store : {make_memory_store(8192).release(), make_null_store(8192).release()}) {
    const std::unique_ptr<Store> owned(store);
    EXPECT_EQ(owned->grow(16384).error().value(), EOPNOTSUPP);
    EXPECT_EQ(owned->properties().size, 8192U);
  }
}

TEST_P(FileStoreTest, WithoutASizeTheFileHasToBeThere) {
  EXPECT_EQ(error_of(0), ENOENT);
}

TEST_P(FileStoreTest, EmptyFileWithoutASizeIsRefused) {
  close(open(path().c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_EQ(error_of(0), EINVAL);
}

TEST_P(FileStoreTest, FolderIsRefused) {
  std::filesystem::create_directory(path());
  EXPECT_EQ(error_of(4096), EISDIR);
}

TEST_P(FileStoreTest, PathThatIsNotThere) {
  const auto opened = open_file_store(folder.path("none/disk"), {.size = 4096});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().value(), ENOENT);
}

// What is done on the spot holds up everybody on the loop, so it must be certain not to wait.
TEST(InMemory, AFileOnTmpfsIsButADeviceWhoseNodeIsThereIsNot) {
  struct statfs where;
  for (const char* folder : {"/dev/shm", "/dev"}) {
    if (statfs(folder, &where) != 0 || where.f_type != TMPFS_MAGIC)
      GTEST_SKIP() << folder << " is no tmpfs here";
  }
  const Descriptor file(open("/dev/shm", O_TMPFILE | O_RDWR, 0600));
  const Descriptor device(open("/dev/zero", O_RDWR));
  ASSERT_TRUE(file && device);
  EXPECT_TRUE(is_in_memory(file.get()));
  EXPECT_FALSE(is_in_memory(device.get()));
}

// File systems choose how finely they tell data from holes; 64 KiB is coarse enough for all.
TEST_P(FileStoreTest, FindsDataAndHoles) {
  constexpr std::uint64_t k64 = 65536;
  const auto store = open_store(16 * k64);
  EXPECT_EQ(bench.extent(*store, 0, 16 * k64), "hole 1048576");
  ASSERT_FALSE(bench.write(*store, 4 * k64, ByteVector(4 * k64, std::byte{1})));
  EXPECT_EQ(bench.extent(*store, 0, 16 * k64), "hole 262144");
  EXPECT_EQ(bench.extent(*store, 512, k64), "hole 65536");
  EXPECT_EQ(bench.extent(*store, 4 * k64, 16 * k64), "data 262144");
  EXPECT_EQ(bench.extent(*store, 5 * k64, 512), "data 512");
  EXPECT_EQ(bench.extent(*store, 8 * k64, 8 * k64), "hole 524288");
  if (!store->properties().discard) GTEST_SKIP() << "no holes can be punched here";
  ASSERT_FALSE(bench.other(*store, Operation::discard, 5 * k64, k64));
  EXPECT_EQ(bench.extent(*store, 4 * k64, 4 * k64), "data 65536");
  EXPECT_EQ(bench.extent(*store, 5 * k64, 3 * k64), "hole 65536");
}

TEST_P(AnyStore, CallsNothingAHoleThatHoldsData) {
  ASSERT_FALSE(bench.write(*store, 1 << 20, ByteVector(1 << 20, std::byte{1})));
  for (std::uint64_t at = 0; at < kSize;) {
    SignalledRequest request(bench.loop(), Operation::find_extent, at, kSize - at);
    ASSERT_FALSE(bench.run(*store, request));
    ASSERT_GT(request.length, 0U);
    ByteVector bytes(request.length);
    ASSERT_FALSE(bench.read(*store, at, bytes, 1 << 20));
    ASSERT_TRUE(!request.is_hole || bytes == ByteVector(request.length)) << at;
    at += request.length;
  }
}

TEST_P(FileStoreTest, SecondWriterIsKeptOut) {
  const auto first = open_store(4096);
  EXPECT_EQ(error_of(4096), EBUSY);
  EXPECT_EQ(error_of(4096, true), EBUSY);
}

// --- direct I/O ---

ByteVector shifted(std::size_t by) {
  ByteVector bytes = test::pattern(8192 + by);
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(by));
  return bytes;
}

TEST_P(FileStoreTest, DirectTakesAlignedAndOtherMemory) {
  auto opened = open_file_store(path(), {.size = kSize, .direct = true});
  if (!opened && opened.error().value() == EOPNOTSUPP) GTEST_SKIP() << "no direct I/O here";
  ASSERT_TRUE(opened) << opened.error().message();
  const auto store = std::move(*opened);
  const std::uint32_t unit = store->properties().alignment;
  ASSERT_GE(unit, 512U);
  for (const std::size_t shift : std::array<std::size_t, 4>{0, 1, 7, 512}) {
    ByteVector memory(3 * 8192 + 4096);
    const std::size_t start = 4096 - reinterpret_cast<std::uintptr_t>(memory.data()) % 4096 + shift;
    const auto piece = [&](int i) { return MutableBytes(memory).subspan(start + i * 4096, 4096); };
    const ByteVector bytes = shifted(shift);
    std::memcpy(piece(0).data(), bytes.data(), 8192);
    ASSERT_FALSE(
        bench.move(*store, Operation::write, 4096, MutableBytes(memory).subspan(start, 8192)));
    ASSERT_FALSE(bench.move(*store, Operation::read, 4096,
                            MutableBytes(memory).subspan(start + 8192, 8192)));
    EXPECT_EQ(std::memcmp(piece(2).data(), bytes.data(), 8192), 0);
  }
  // What came past the page cache is what everybody else reads.
  std::ifstream file(path(), std::ios::binary);
  ByteVector whole(4096 + 8192);
  file.read(reinterpret_cast<char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
  EXPECT_EQ(ByteVector(whole.begin() + 4096, whole.end()), shifted(512));
}

TEST(DirectIo, AlignmentIsOfEachPiece) {
  alignas(4096) static std::array<std::byte, 8192> memory;
  struct Request final : StoreRequest {
    void done() override {}
  } request;
  const DirectAlignment alignment{512, 4096};
  std::array<MutableBytes, 2> pieces{MutableBytes(memory).first(4096),
                                     MutableBytes(memory).subspan(4096)};
  request.pieces = pieces;
  EXPECT_TRUE(is_aligned(request, alignment));
  pieces[1] = MutableBytes(memory).subspan(512, 4096);
  EXPECT_TRUE(is_aligned(request, alignment));
  pieces[1] = MutableBytes(memory).subspan(511, 4096);
  EXPECT_FALSE(is_aligned(request, alignment));
  pieces[1] = MutableBytes(memory).subspan(512, 512);
  EXPECT_FALSE(is_aligned(request, alignment));
}

// --- devices ---

// A loop device on a file; no name where there can be none.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    FILE* answer = popen(("losetup -f --show '" + file + "' 2>/dev/null").c_str(), "r");
    if (!answer) return;
    char line[256] = "";
    if (fgets(line, sizeof line, answer)) name_.assign(line, strcspn(line, "\n"));
    pclose(answer);
  }
  ~LoopDevice() {
    if (!name_.empty() && std::system(("losetup -d " + name_).c_str()) != 0) ADD_FAILURE();
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

TEST_P(FileStoreTest, ADeviceDeallocatesAndReadsAsZeros) {
  open_store(kSize);
  const LoopDevice device(path());
  if (device.name().empty()) GTEST_SKIP() << "no loop devices here";
  for (const bool direct : {false, true}) {
    auto opened = open_file_store(device.name(), {.direct = direct});
    ASSERT_TRUE(opened) << opened.error().message();
    const auto store = std::move(*opened);
    EXPECT_EQ(store->properties().size, kSize);
    EXPECT_TRUE(store->properties().discard);
    EXPECT_FALSE(store->properties().tells_space);
    ASSERT_FALSE(bench.write(*store, 8192, test::pattern(65536)));
    ASSERT_FALSE(bench.other(*store, Operation::discard, 8192, 32768));
    ASSERT_FALSE(bench.other(*store, Operation::write_zeroes, 8192 + 32768, 16384));
    ByteVector expected = test::pattern(65536);
    std::fill_n(expected.begin(), 49152, std::byte{0});
    ByteVector back(65536);
    ASSERT_FALSE(bench.read(*store, 8192, back));
    EXPECT_EQ(back, expected);
    EXPECT_FALSE(bench.other(*store, Operation::flush, 0, 0));
    EXPECT_FALSE(bench.other(*store, Operation::find_extent, 0, kSize));
  }
}

// --- what the file system tells ---

TEST_P(FileStoreTest, SpaceUsedAndAvailable) {
  const auto store = open_store(kSize);
  ASSERT_TRUE(store->properties().tells_space);
  const StoreSpace before = bench.space(*store);
  EXPECT_LT(before.used, kSize);
  EXPECT_GT(before.available, 0U);
  ASSERT_FALSE(bench.write(*store, 0, test::pattern(1 << 20)));
  ASSERT_FALSE(bench.other(*store, Operation::flush, 0, 0));
  EXPECT_GE(bench.space(*store).used, before.used + (1 << 20));
}

TEST_P(FileStoreTest, PrefetchIsHarmless) {
  const auto store = open_store(kSize);
  EXPECT_FALSE(bench.other(*store, Operation::prefetch, 0, kSize));
}

TEST_P(FileStoreTest, ALockIsWaitedFor) {
  auto first = open_store(4096);
  std::thread letting_go([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    first.reset();
  });
  const auto second =
      open_file_store(path(), {.size = 4096, .lock_wait = std::chrono::seconds(60)});
  letting_go.join();
  EXPECT_TRUE(second);
}

TEST_P(FileStoreTest, ReadersShare) {
  open_store(4096);
  const auto first = open_store(4096, true);
  EXPECT_EQ(error_of(4096, true), 0);
  EXPECT_EQ(error_of(4096), EBUSY);
}

TEST_P(FileStoreTest, TheLockGoesWithTheStore) {
  open_store(4096).reset();
  EXPECT_EQ(error_of(4096), 0);
}

TEST_P(FileStoreTest, ReadOnlyChangesNothing) {
  ASSERT_FALSE(bench.write(*open_store(4096), 0, test::pattern(4096)));
  const auto store = open_store(0, true);
  EXPECT_TRUE(store->properties().read_only);
  EXPECT_FALSE(store->properties().discard);
  EXPECT_EQ(bench.write(*store, 0, ByteVector(512)).value(), EROFS);
  EXPECT_EQ(bench.other(*store, Operation::discard, 0, 512).value(), EROFS);
  EXPECT_EQ(bench.other(*store, Operation::write_zeroes, 0, 512).value(), EROFS);
  EXPECT_FALSE(bench.other(*store, Operation::flush, 0, 0));
  ByteVector back(4096);
  EXPECT_FALSE(bench.read(*store, 0, back));
  EXPECT_EQ(back, test::pattern(4096));
}

TEST_P(FileStoreTest, ReadOnlyIsNotMade) {
  EXPECT_EQ(error_of(4096, true), ENOENT);
}

TEST_P(FileStoreTest, ReadOnlyIsNotGrown) {
  open_store(4096);
  EXPECT_EQ(error_of(8192, true), ENOSPC);
}

TEST_P(FileStoreTest, FileCutShortGivesEio) {
  const auto store = open_store(8 << 20);
  std::filesystem::resize_file(path(), 4096);
  ByteVector bytes(8192);
  EXPECT_EQ(bench.read(*store, 0, bytes).value(), EIO) << "across the end";
  EXPECT_EQ(bench.read(*store, 8192, bytes).value(), EIO) << "behind it";
  ByteVector large(4 << 20);
  EXPECT_EQ(bench.read(*store, 0, large).value(), EIO) << "too long to be read on the spot";
}

TEST_P(FileStoreTest, ForcedWritesAndFlushesSucceed) {
  const auto store = open_store(kSize);
  EXPECT_TRUE(store->properties().volatile_cache);
  EXPECT_FALSE(bench.write(*store, 0, test::pattern(4096), 4096, true));
  EXPECT_FALSE(bench.other(*store, Operation::flush, 0, 0));
}

TEST_P(FileStoreTest, DiscardGivesSpaceBack) {
  const auto store = open_store(kSize);
  ASSERT_FALSE(bench.write(*store, 0, ByteVector(1 << 20, std::byte{1}), 1 << 20));
  ASSERT_FALSE(bench.other(*store, Operation::flush, 0, 0));
  struct stat before, after;
  ASSERT_EQ(stat(path().c_str(), &before), 0);
  ASSERT_FALSE(bench.other(*store, Operation::discard, 0, 1 << 20));
  ASSERT_EQ(stat(path().c_str(), &after), 0);
  EXPECT_LT(after.st_blocks, before.st_blocks);
  EXPECT_EQ(after.st_size, before.st_size);
}

// A write the system refuses: more than the file may ever be.
TEST_P(FileStoreTest, ErrorsOfTheSystemComeThrough) {
  SignalledRequest request(bench.loop(), Operation::write, 0, 512);
  ByteVector bytes(512);
  request.use(bytes, 512);
  const int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  bench.engine().submit(fd, request);
  bench.engine().flush();
  bench.finish(request);
  close(fd);
  EXPECT_EQ(request.error.value(), ENOSPC);
}

TEST_P(FileStoreTest, RequestsLeftBehindAreDroppedWithTheEngine) {
  const auto store = open_store(kSize);
  rdmap::EventLoop loop;
  auto engine = StoreEngine::create(loop, GetParam());
  std::vector<ByteVector> memory(300, ByteVector(4096));
  std::vector<std::unique_ptr<SignalledRequest>> requests;
  for (ByteVector& bytes : memory) {
    requests.push_back(std::make_unique<SignalledRequest>(loop, Operation::write, 0, bytes.size()));
    requests.back()->use(bytes, 4096);
    store->submit(*engine, *requests.back());
  }
  engine.reset();
  // The loop may still run: what was posted to it finds nobody.
  loop.post([&] { loop.stop(); });
  loop.run();
  for (const auto& request : requests) EXPECT_FALSE(request->is_done);
}

TEST(StoreEngineTest, NamesItself) {
  rdmap::EventLoop loop;
  EXPECT_STREQ(StoreEngine::create(loop, Kind::threads)->name(), "threads");
}

TEST(StoreEngineTest, PrefersTheRingWhereThereIsOne) {
  rdmap::EventLoop loop;
  const std::string name = StoreEngine::create(loop, Kind::automatic)->name();
  if (name == "threads") GTEST_SKIP() << "this kernel has no io_uring for us";
  EXPECT_EQ(name, "io_uring");
}

// --- memory and null ---

}  // namespace
}  // namespace openiser::target
