#include "initiator/cli/copy_engine.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/last_error.h"
#include "initiator/session.h"

namespace openiser::initiator::cli {
namespace {

class File final : public BlockDevice {
 public:
  File(Descriptor fd, std::uint64_t size) : fd_(std::move(fd)) {
    properties_.block_size = 1;
    properties_.blocks = size;
    properties_.write_same = true;
  }
  const BlockDeviceProperties& properties() const override { return properties_; }

  void read(std::uint64_t offset, MutableBytes data, Done done) override {
    while (!data.empty()) {
      const ssize_t n = pread(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return done(last_error());
      if (n == 0)
        return done(ErrorCode(EIO, boost::system::system_category()));  // the file got shorter
      offset += static_cast<std::uint64_t>(n);
      data = data.subspan(static_cast<std::size_t>(n));
    }
    done({});
  }
  void write(std::uint64_t offset, Bytes data, bool, Done done) override {
    while (!data.empty()) {
      const ssize_t n = pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return done(last_error());
      offset += static_cast<std::uint64_t>(n);
      data = data.subspan(static_cast<std::size_t>(n));
    }
    done({});
  }
  void flush(Done done) override {
    done(fsync(fd_.get()) == 0 || errno == EINVAL ? ErrorCode() : last_error());
  }
  void unmap(std::uint64_t offset, std::uint64_t length, Done done) override {
    write_zeroes(offset, length, true, std::move(done));
  }
  void write_zeroes(std::uint64_t offset, std::uint64_t length, bool deallocate,
                    Done done) override {
    const int mode =
        (deallocate ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE) | FALLOC_FL_KEEP_SIZE;
    if (fallocate(fd_.get(), mode, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0)
      return done({});
    const std::vector<std::byte> zeroes(length);
    write(offset, zeroes, false, std::move(done));
  }

 private:
  const Descriptor fd_;
  BlockDeviceProperties properties_;
};

bool all_zero(Bytes bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::uint64_t round_up(std::uint64_t n, std::uint32_t block) {
  return (n + block - 1) / block * block;
}

[[noreturn]] void fail(const char* what, std::uint64_t offset, ErrorCode error) {
  throw SessionError(std::string(what) + " at byte " + std::to_string(offset) + ": " +
                     error.message());
}

// Chunks in flight: completions come from any thread, and are worked off by the caller's.
class Pump {
 public:
  struct Slot {
    Buffer first, second;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;  // of the source's bytes
    int step = 0;
    ErrorCode error;
  };

  explicit Pump(const CopyPlan& plan) : plan_(plan), slots_(plan.depth) {}
  // Callbacks under way refer to the slots.
  ~Pump() {
    while (open_ > 0) wait();
  }

  // The next chunk into `slot`; false when there is none left.
  bool next(Slot& slot) {
    if (taken_ == plan_.length) return false;
    slot.offset = taken_;
    slot.length =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(plan_.chunk, plan_.length - taken_));
    slot.step = 0;
    taken_ += slot.length;
    return true;
  }
  void done(const Slot& slot) {
    done_ += slot.length;
    if (plan_.progress) plan_.progress(done_);
  }
  BlockDevice::Done begin(Slot& slot) {
    ++open_;
    return [this, &slot](ErrorCode error) {
      const std::lock_guard lock(mutex_);
      slot.error = error;
      ready_.push_back(&slot);
      changed_.notify_one();
    };
  }
  Slot& wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty(); });
    Slot* slot = ready_.front();
    ready_.pop_front();
    --open_;
    return *slot;
  }
  bool busy() const { return open_ > 0; }
  std::vector<Slot>& slots() { return slots_; }

 private:
  const CopyPlan& plan_;
  std::vector<Slot> slots_;
  std::uint64_t taken_ = 0, done_ = 0;
  unsigned open_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot*> ready_;
};

// Reads a chunk, rounded up to whole blocks of the device.
void start_read(Pump& pump, Pump::Slot& slot, Buffer& into, BlockDevice& device,
                std::uint32_t room) {
  if (!into) into = Buffer::allocate(room);
  into.resize(round_up(slot.length, device.properties().block_size));
  device.read(slot.offset, into.bytes(), pump.begin(slot));
}

}  // namespace

std::unique_ptr<BlockDevice> open_file(const std::string& path, bool writing,
                                       std::uint64_t size_if_created) {
  Descriptor fd(open(path.c_str(), (writing ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0666));
  if (!fd) throw SessionError("cannot open " + path + ": " + std::strerror(errno));
  struct stat st {};
  if (fstat(fd.get(), &st) != 0) throw SessionError(path + ": " + std::strerror(errno));
  if (S_ISREG(st.st_mode) && writing) {
    // Emptied first, so that what is not written reads as zeroes.
    if (ftruncate(fd.get(), 0) != 0 ||
        ftruncate(fd.get(), static_cast<off_t>(size_if_created)) != 0) {
      throw SessionError("cannot make " + path + " " + std::to_string(size_if_created) +
                         " bytes long: " + std::strerror(errno));
    }
  }
  const off_t end = lseek(fd.get(), 0, SEEK_END);
  if (end < 0) throw SessionError(path + " is a pipe; 'iser read' and 'iser write' work on pipes");
  return std::make_unique<File>(std::move(fd), static_cast<std::uint64_t>(end));
}

CopyResult copy_blocks(BlockDevice& source, BlockDevice& destination, const CopyPlan& plan) {
  const std::uint32_t block = destination.properties().block_size;
  const auto room = static_cast<std::uint32_t>(round_up(plan.chunk, 65536));
  CopyResult result;
  Pump pump(plan);
  for (auto& slot : pump.slots()) {
    if (pump.next(slot)) start_read(pump, slot, slot.first, source, room);
  }
  while (pump.busy()) {
    Pump::Slot& slot = pump.wait();
    if (slot.error) fail(slot.step == 0 ? "reading" : "writing", slot.offset, slot.error);
    if (slot.step++ == 0) {
      const MutableBytes data = slot.first.bytes().first(slot.length);
      const std::uint64_t whole = round_up(slot.length, block);
      const bool zero = all_zero(data);
      (zero ? result.holes : result.data) += slot.length;
      if (zero && plan.destination_zeroed) {
        slot.step = 2;
      } else if (zero && destination.properties().write_same) {
        destination.write_zeroes(slot.offset, whole, true, pump.begin(slot));
        continue;
      } else {
        slot.first.resize(whole);
        std::memset(slot.first.data() + slot.length, 0, whole - slot.length);
        destination.write(slot.offset, slot.first.bytes(), false, pump.begin(slot));
        continue;
      }
    }
    pump.done(slot);
    if (pump.next(slot)) start_read(pump, slot, slot.first, source, room);
  }
  if (const ErrorCode error = destination.flush())
    throw SessionError("the final flush failed: " + error.message());
  return result;
}

void compare_blocks(BlockDevice& source, BlockDevice& destination, const CopyPlan& plan) {
  const auto room = static_cast<std::uint32_t>(round_up(plan.chunk, 65536));
  Pump pump(plan);
  for (auto& slot : pump.slots()) {
    if (pump.next(slot)) start_read(pump, slot, slot.first, source, room);
  }
  while (pump.busy()) {
    Pump::Slot& slot = pump.wait();
    if (slot.error) fail("reading back", slot.offset, slot.error);
    if (slot.step++ == 0) {
      start_read(pump, slot, slot.second, destination, room);
      continue;
    }
    const auto differs =
        std::mismatch(slot.first.data(), slot.first.data() + slot.length, slot.second.data());
    if (differs.first != slot.first.data() + slot.length) {
      const auto at = slot.offset + static_cast<std::uint64_t>(differs.first - slot.first.data());
      throw SessionError("verify: source and destination differ at byte " + std::to_string(at));
    }
    pump.done(slot);
    if (pump.next(slot)) start_read(pump, slot, slot.first, source, room);
  }
}

}  // namespace openiser::initiator::cli
