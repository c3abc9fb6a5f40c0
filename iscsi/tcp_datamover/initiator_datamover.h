// The initiator's side: Data-In goes into the task's read buffer, an R2T is answered by Data-Out
// from its write buffer (RFC 7143 sections 11.7 and 11.8); the session sees neither.
#pragma once

#include <cstdint>
#include <deque>

#include "iscsi/tcp_datamover/stream_datamover.h"
#include "iscsi/tcp_datamover/tag_map.h"

namespace openiser::iscsi {

class InitiatorDatamover final : public StreamDatamover {
 public:
  explicit InitiatorDatamover(StreamStart start);

  void send_control(ControlPdu pdu, const TaskMemory* memory) override;
  void deallocate_task_resources(std::uint32_t initiator_task_tag) override;

  // Of targets only: never called.
  void put_data(const DataIn& pdu, Buffer data, bool notify) override;
  std::uint32_t data_in_pdus(std::uint32_t length) const override;
  void get_data(const R2t& pdu, Buffer sink) override;

 private:
  struct Task {
    Bytes out;
    MutableBytes in;
    // Position in the output up to which it refers to `out`.
    std::uint64_t output_end = 0;
    std::uint32_t open_r2ts = 0;
  };
  // What is left of an R2T.
  struct Transfer {
    std::uint32_t initiator_task_tag = 0;
    std::uint32_t target_transfer_tag = 0;
    Lun lun{};
    std::uint32_t buffer_offset = 0;
    std::uint32_t data_sn = 0;
    Bytes rest;
  };

  Result<Placement> header_arrived(const Bhs& bhs) override;
  Status pdu_arrived(ControlPdu pdu, Placement::Kind kind) override;
  void refill_output() override;
  void abandon_transfers(ErrorCode why) override;

  Result<Placement> data_in_arrives(const Bhs& bhs);
  Status data_in_arrived(const Bhs& bhs);
  Status r2t_arrived(const Bhs& bhs);
  void acknowledge(const DataIn& pdu);
  void send_next_data_out();
  // Afterwards nothing here reads or writes the task's memory.
  void release_task(std::uint32_t initiator_task_tag);

  TagMap<Task> tasks_;  // by Initiator Task Tag
  std::deque<Transfer> transfers_;
  // Whose read buffer the Data-In under way goes to.
  std::uint32_t arriving_ = kReservedTag;
};

}  // namespace openiser::iscsi
