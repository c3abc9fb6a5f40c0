// The initiator's SCSI commands under way, by Initiator Task Tag: a slot and how often it has been
// used, so that finding one is an index and a tag that is late never matches a newer command.
#pragma once

#include <cstdint>
#include <vector>

#include "iscsi/datamover.h"

namespace openiser::iscsi {

class InitiatorTask;

class CommandTable {
 public:
  struct Command {
    InitiatorTask* task = nullptr;  // null: free
    std::uint32_t tag = 0;
    std::uint32_t cmd_sn = 0;
    // Set when its end is settled though its abort is not answered yet: what it ends with.
    ErrorCode fate;
  };

  // Tags with this lower half are never commands'. kReservedTag is none of these either.
  static constexpr std::uint32_t kForeignSlot = 0xfffe;

  bool is_full() const { return free_.empty() && slots_.size() == kForeignSlot; }
  // It is not full. The reference is valid until the next open().
  Command& open(InitiatorTask& task, std::uint32_t cmd_sn) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back().tag = free_.back();
    }
    Command& command = slots_[free_.back()];
    free_.pop_back();
    command.task = &task;
    command.cmd_sn = cmd_sn;
    command.fate = {};
    ++size_;
    return command;
  }
  Command* find(std::uint32_t tag) {
    const std::uint32_t slot = tag & 0xffff;
    if (slot >= slots_.size()) return nullptr;
    Command& command = slots_[slot];
    return command.task && command.tag == tag ? &command : nullptr;
  }
  void close(Command& command) {
    command.task = nullptr;
    free_.push_back(command.tag & 0xffff);
    command.tag += 0x10000;
    --size_;
  }
  std::size_t size() const { return size_; }

  // `visit` may close the command it is given.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Command& command : slots_) {
      if (command.task) visit(command);
    }
  }

 private:
  std::vector<Command> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace openiser::iscsi
