// What a disk should hold, and a load of random commands that checks it does. Commands under way
// never overlap, so the model is exact at every moment; the seed makes a run repeatable.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "initiator/lun.h"
#include "tests/support/bytes.h"

namespace openiser::test {

class DiskModel {
 public:
  struct Load {
    std::size_t commands = 200;
    std::size_t depth = 32;
    std::size_t largest = 4 << 20;
    unsigned seed = 1;
  };

  // Works on `size` bytes from `start` on, which hold zeroes.
  DiskModel(initiator::Lun& lun, std::uint64_t start, std::uint64_t size)
      : lun_(lun), start_(start), content_(size) {}
  ~DiskModel() { wait_for_all(); }

  // Returns when all of it is done.
  void run(const Load& load) {
    start_load(load);
    wait_for_all();
  }
  // Commands fail as they may while a unit is being reset: what they leave is then unknown, and
  // written anew before it is looked at.
  void tolerate_failures() { tolerant_ = true; }
  std::size_t failures() const { return failures_; }

  void start_load(const Load& load) {
    std::mt19937 random(load.seed);
    for (std::size_t i = 0; i < load.commands; ++i) {
      Command* command = place(random, load);
      if (!command) return;
      issue(*command, random());
    }
  }
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return busy_.empty(); }))
        << busy_.size() << " commands are never answered";
    ASSERT_TRUE(busy_.empty());
  }

  // Everything, against the disk.
  void verify() {
    wait_for_all();
    ByteVector read(std::min<std::size_t>(content_.size(), 1 << 20));
    for (std::size_t at = 0; at < content_.size(); at += read.size()) {
      read.resize(std::min(read.size(), content_.size() - at));
      ASSERT_EQ(lun_.read(start_ + at, read), ErrorCode()) << at;
      expect_same(at, read);
    }
  }

 private:
  static constexpr std::chrono::seconds kPatience{60};
  enum class Kind { read, write, write_zeroes, unmap };

  struct Command {
    Kind kind;
    std::size_t at;
    ByteVector data;
  };

  std::size_t block() const { return lun_.properties().block_size; }

  // A range that nobody is working on, as soon as there are fewer than `depth` commands.
  Command* place(std::mt19937& random, const Load& load) {
    const std::size_t depth = 1 + random() % load.depth;
    std::unique_lock lock(mutex_);
    const auto room = [&] { return busy_.size() < depth; };
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, room)) << "no command is answered";
    if (!room()) return nullptr;
    while (true) {
      const std::size_t size = random_size(random, load.largest);
      const std::size_t at = random() % ((content_.size() - size) / block() + 1) * block();
      const bool overlaps = std::ranges::any_of(busy_, [&](const auto& entry) {
        return entry.second.at < at + size && at < entry.second.at + entry.second.data.size();
      });
      if (overlaps) continue;
      const auto number = next_++;
      const auto added = busy_.emplace(number, Command{random_kind(random), at, ByteVector(size)});
      return &added.first->second;
    }
  }
  // Small ones are as frequent as large ones: 512 bytes times a power of two, more or less.
  std::size_t random_size(std::mt19937& random, std::size_t largest) const {
    std::size_t limit = block();
    while (limit < largest && random() % 8 != 0) limit *= 2;
    limit = std::min(limit, largest);
    return (1 + random() % (limit / block())) * block();
  }
  Kind random_kind(std::mt19937& random) const {
    const auto n = random() % 16;
    if (n < 7) return Kind::read;
    if (n < 14) return Kind::write;
    const bool unmap = lun_.properties().unmap && lun_.description().reads_zero_after_unmap;
    return n == 14 && unmap ? Kind::unmap : Kind::write_zeroes;
  }

  void issue(Command& command, unsigned seed) {
    const std::uint64_t offset = start_ + command.at;
    const auto done = [this, &command](ErrorCode error) { finished(command, error); };
    switch (command.kind) {
      case Kind::read:
        return lun_.read(offset, command.data, done);
      case Kind::write:
        fill(command.data, seed);
        return lun_.write(offset, command.data, seed % 8 == 0, done);
      case Kind::write_zeroes:
        return lun_.write_zeroes(offset, command.data.size(), seed % 2 == 0, done);
      case Kind::unmap:
        return lun_.unmap(offset, command.data.size(), done);
    }
  }
  // Eight bytes tell each block from any other.
  void fill(ByteVector& data, unsigned seed) const {
    for (std::size_t at = 0; at < data.size(); at += 8)
      store_be64(&data[at], std::uint64_t{seed} << 32 | at);
  }

  void finished(Command& command, ErrorCode error) {
    const std::lock_guard lock(mutex_);
    if (error) {
      ++failures_;
      EXPECT_TRUE(tolerant_) << error.message();
      if (command.kind != Kind::read) unknown_.emplace_back(command.at, command.data.size());
    } else if (command.kind == Kind::read) {
      expect_same(command.at, command.data);
    } else {
      std::ranges::copy(command.data, content_.begin() + static_cast<std::ptrdiff_t>(command.at));
      forget_unknown(command.at, command.data.size());
    }
    const auto self =
        std::ranges::find_if(busy_, [&](const auto& entry) { return &entry.second == &command; });
    busy_.erase(self);
    changed_.notify_all();
  }
  void expect_same(std::size_t at, const ByteVector& read) {
    for (std::size_t i = 0; i < read.size(); i += block()) {
      const auto expected = content_.begin() + static_cast<std::ptrdiff_t>(at + i);
      if (is_unknown(at + i)) continue;
      if (std::equal(expected, expected + static_cast<std::ptrdiff_t>(block()),
                     read.begin() + static_cast<std::ptrdiff_t>(i)))
        continue;
      ADD_FAILURE() << "byte " << start_ + at + i << " is not what was written";
      return;
    }
  }
  bool is_unknown(std::size_t at) const {
    return std::ranges::any_of(unknown_, [at](const auto& range) {
      return range.first <= at && at < range.first + range.second;
    });
  }
  void forget_unknown(std::size_t at, std::size_t size) {
    std::erase_if(unknown_, [&](const auto& range) {
      return at <= range.first && range.first + range.second <= at + size;
    });
  }

  initiator::Lun& lun_;
  const std::uint64_t start_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ByteVector content_;
  std::map<std::uint64_t, Command> busy_;
  std::uint64_t next_ = 0;
  std::size_t failures_ = 0;
  bool tolerant_ = false;
  std::vector<std::pair<std::size_t, std::size_t>> unknown_;
};

}  // namespace openiser::test
