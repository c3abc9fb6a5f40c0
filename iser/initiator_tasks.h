// Local Mappings of an initiator (RFC 7145 sections 7.3.1 to 7.3.3): the memory of each SCSI
// command under way, open to the target from the command until its response.
#pragma once

#include <cstdint>
#include <optional>

#include "iscsi/datamover.h"
#include "iser/header.h"
#include "iser/task_map.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

class InitiatorTasks {
 public:
  InitiatorTasks(rdmap::QueuePair& queue_pair, std::size_t expected)
      : queue_pair_(queue_pair), tasks_(expected) {}

  // A SCSI Command, or TASK REASSIGN of the task `initiator_task_tag`, is about to be sent: opens
  // its memory (null: it has none) and gives what the iSER header advertises. STags the task had
  // are invalid then. `base_offset`: what the Write Base Offset refers to. `read_access`: how the
  // read buffer is opened.
  Result<ControlHeader> open(std::uint32_t initiator_task_tag, const iscsi::TaskMemory* memory,
                             BaseOffset base_offset, rdmap::Access read_access);

  // Data of this task's goes out in a Send, from where it lies: gives the Send's id.
  rdmap::WorkId sending(std::uint32_t initiator_task_tag);
  // That Send has completed.
  void sent(rdmap::WorkId id);
  // Sends under way with data of this task's: its memory is in use, also after its response, as a
  // target may answer before it has got all unsolicited data.
  bool in_use(std::uint32_t initiator_task_tag) const;

  // A SCSI Response has come, whose Send invalidated `invalidated`: closes the memory. Fails with
  // iser_invalidated_stag when that STag was not one of this task's (section 7.3.2).
  ErrorCode conclude(std::uint32_t initiator_task_tag, std::optional<rdmap::Stag> invalidated);

  // The task has ended in another way: its memory is closed.
  void close(std::uint32_t initiator_task_tag) { tasks_.erase(initiator_task_tag); }
  void close_all() { tasks_.clear(); }

  // Commands without a response as yet, also those without data, and those with memory in use.
  std::size_t size() const { return tasks_.size(); }

 private:
  struct Task {
    rdmap::MemoryRegion read;
    rdmap::MemoryRegion write;
    std::uint32_t serial = 0;  // tells apart those that had the same tag
    std::uint32_t sends = 0;
    bool concluded = false;
  };

  rdmap::QueuePair& queue_pair_;
  TaskMap<Task> tasks_;
  std::uint32_t next_serial_ = 1;
};

}  // namespace openiser::iser
