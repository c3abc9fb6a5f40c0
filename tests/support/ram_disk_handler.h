// A SCSI layer of two commands, READ(10) 0x28 and WRITE(10) 0x2a in bytes instead of blocks, over
// memory. It answers late, in pieces and in another order, as a store with queues does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "iscsi/session/target_session.h"

namespace openiser::test {

inline std::array<std::byte, 16> disk_cdb(std::uint8_t opcode, std::uint32_t offset,
                                          std::uint32_t length) {
  std::array<std::byte, 16> cdb{};
  cdb[0] = static_cast<std::byte>(opcode);
  store_be32(&cdb[2], offset);
  store_be32(&cdb[6], length);
  return cdb;
}
constexpr std::uint8_t kRead = 0x28;
constexpr std::uint8_t kWrite = 0x2a;

class RamDiskHandler final : public iscsi::TaskHandler {
 public:
  RamDiskHandler(std::size_t size, unsigned seed) : disk(size), random_(seed) {}

  std::vector<std::byte> disk;

  void execute(iscsi::TargetTask& task) override {
    const std::uint32_t offset = load_be32(&task.cdb[2]);
    const std::uint32_t length = load_be32(&task.cdb[6]);
    ASSERT_LE(std::size_t{offset} + length, disk.size());
    open_.insert(&task);
    if (load_u8(&task.cdb[0]) == kWrite) return task.receive_data(length);
    jobs_.push_back({&task, offset, length, 0, {}});
  }
  void data_received(iscsi::TargetTask& task, iscsi::DataPieces& data) override {
    ASSERT_TRUE(open_.contains(&task));
    jobs_.push_back({&task, load_be32(&task.cdb[2]), load_be32(&task.cdb[6]), 0, std::move(data)});
  }
  void abort(iscsi::TargetTask& task) override {
    ASSERT_TRUE(open_.contains(&task));
    std::erase_if(jobs_, [&](const Job& job) { return job.task == &task; });
    if (chance(2)) return release(task);
    aborted_.push_back(&task);
  }
  void manage(iscsi::TaskManagementFunction, const iscsi::Lun&,
              std::function<void(iscsi::TaskManagementAnswer)> done) override {
    managements_.push_back(std::move(done));
  }
  void memory_freed() override { starved_ = false; }

  // A store completion, outside of any turn. False: nothing to do, or no memory.
  bool step() {
    if (!aborted_.empty()) {
      iscsi::TargetTask* task = aborted_.front();
      aborted_.pop_front();
      release(*task);
      return true;
    }
    if (!managements_.empty()) {
      const auto done = std::move(managements_.front());
      managements_.pop_front();
      done(iscsi::TaskManagementAnswer::complete);
      return true;
    }
    if (jobs_.empty()) return false;
    const auto first = std::uniform_int_distribution<std::size_t>(0, jobs_.size() - 1)(random_);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[(first + i) % jobs_.size()];
      if (load_u8(&job.task->cdb[0]) == kWrite) return write(job);
      if (!starved_ || job.done == job.length) return read(job);
    }
    return false;
  }
  std::size_t open() const { return open_.size(); }

 private:
  struct Job {
    iscsi::TargetTask* task;
    std::uint32_t offset;
    std::uint32_t length;
    std::uint32_t done;
    iscsi::DataPieces data;
  };
  bool chance(int one_in) { return std::uniform_int_distribution<int>(1, one_in)(random_) == 1; }
  void release(iscsi::TargetTask& task) {
    open_.erase(&task);
    task.release();
  }
  void finish(Job& job) {
    iscsi::TargetTask& task = *job.task;
    const std::uint32_t length = job.length;
    open_.erase(&task);
    std::erase_if(jobs_, [&](const Job& other) { return other.task == &task; });
    task.finish(0, {}, length);
  }
  bool write(Job& job) {
    std::size_t at = job.offset;
    for (const Buffer& piece : job.data) {
      std::memcpy(&disk[at], piece.data(), piece.size());
      at += piece.size();
    }
    EXPECT_EQ(at, job.offset + job.length);
    finish(job);
    return true;
  }
  bool read(Job& job) {
    if (job.done == job.length) {
      finish(job);
      return true;
    }
    const std::uint32_t piece =
        chance(3) ? job.length - job.done
                  : std::uniform_int_distribution<std::uint32_t>(1, job.length - job.done)(random_);
    Buffer buffer = job.task->take_buffer(piece);
    if (!buffer) {
      starved_ = true;
      return false;
    }
    std::memcpy(buffer.data(), &disk[job.offset + job.done], piece);
    const std::uint32_t at = job.done;
    job.done += piece;
    iscsi::TargetTask& task = *job.task;
    const bool all = job.done == job.length;
    if (all && chance(2)) {
      task.send_data(std::move(buffer), at);
      finish(job);
    } else {
      task.send_data(std::move(buffer), at);
    }
    return true;
  }

  std::mt19937 random_;
  std::set<iscsi::TargetTask*> open_;
  std::vector<Job> jobs_;
  std::deque<iscsi::TargetTask*> aborted_;
  std::deque<std::function<void(iscsi::TaskManagementAnswer)>> managements_;
  bool starved_ = false;
};

}  // namespace openiser::test
