// Remote Mappings of a target (RFC 7145 sections 7.3.1 to 7.3.6): the STags and base offsets that
// came with each SCSI Command, from its arrival until its response, and where in the initiator's
// memory a Data-In or R2T therefore goes.
#pragma once

#include <cstdint>
#include <optional>

#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"
#include "iser/header.h"
#include "iser/task_map.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

class TargetTasks {
 public:
  // `limit`: mappings at one time; a peer that needs more is at fault.
  TargetTasks(const iscsi::Parameters& parameters, BaseOffset base_offset, std::size_t limit);

  // A SCSI Command has come. Fails with protocol_error when there are too many. A tag in use keeps
  // its mapping: the session rejects the second command.
  ErrorCode open(const iscsi::ControlPdu& command, const ControlHeader& header);
  // TASK REASSIGN has come: the STags in its header replace those of the task (section 7.3.3).
  ErrorCode reassign(const iscsi::ControlPdu& request, const ControlHeader& header);
  // A Reject is about to be sent: if that is of a command, it was none.
  void rejected(const iscsi::ControlPdu& reject);
  // A SCSI Response is about to be sent: ends the mapping; gives the STag that the Send should
  // invalidate.
  std::optional<rdmap::Stag> conclude(std::uint32_t initiator_task_tag);
  void close(std::uint32_t initiator_task_tag) { tasks_.erase(initiator_task_tag); }
  void close_all() { tasks_.clear(); }

  // Where `length` bytes at a Buffer Offset are. task_aborted when there is no such task, iser_stag
  // when nothing was advertised for them.
  Result<rdmap::RemoteMemory> sink(std::uint32_t initiator_task_tag, std::uint32_t offset,
                                   std::size_t length);
  Result<rdmap::RemoteMemory> source(std::uint32_t initiator_task_tag, std::uint32_t offset,
                                     std::size_t length);

  // Reads under way or waiting for the task.
  void read_started(std::uint32_t initiator_task_tag);
  void read_ended(std::uint32_t initiator_task_tag);
  bool reading(std::uint32_t initiator_task_tag);

  std::size_t size() const { return tasks_.size(); }

 private:
  struct Task {
    std::optional<rdmap::RemoteMemory> write{};
    std::optional<rdmap::RemoteMemory> read{};
    std::uint32_t write_length = 0;
    std::uint32_t read_length = 0;
    std::uint32_t unsolicited = 0;  // first bytes of the write data, which the peer sends by itself
    std::uint32_t cmd_sn = 0;
    std::uint32_t reads = 0;
  };

  std::uint32_t unsolicited_length(const iscsi::Bhs& command) const;

  bool initial_r2t_;
  std::uint32_t first_burst_length_;
  BaseOffset base_offset_;
  std::size_t limit_;
  TaskMap<Task> tasks_;
};

}  // namespace openiser::iser
