// The target's side: Put_Data as runs of Data-In, Get_Data as an R2T and the Data-Out that answer
// it (RFC 7143 sections 11.7 and 11.8).
#pragma once

#include <cstdint>
#include <deque>

#include "iscsi/tcp_datamover/stream_datamover.h"
#include "iscsi/tcp_datamover/tag_map.h"

namespace openiser::iscsi {

class TargetDatamover final : public StreamDatamover {
 public:
  explicit TargetDatamover(StreamStart start);

  void put_data(const DataIn& pdu, Buffer data, bool notify) override;
  std::uint32_t data_in_pdus(std::uint32_t length) const override;
  void get_data(const R2t& pdu, Buffer sink) override;
  void deallocate_task_resources(std::uint32_t initiator_task_tag) override;

 private:
  // An R2T whose Data-Out are under way.
  struct Get {
    std::uint32_t initiator_task_tag = 0;
    std::uint32_t r2t_sn = 0;
    std::uint32_t buffer_offset = 0;
    std::uint32_t received = 0;
    std::uint32_t next_data_sn = 0;
    Buffer sink;
    // Its task is gone: what still comes for it is dropped.
    bool aborted = false;
  };

  Result<Placement> header_arrived(const Bhs& bhs) override;
  Status pdu_arrived(ControlPdu pdu, Placement::Kind kind) override;
  void abandon_transfers(ErrorCode why) override;

  Result<Placement> data_out_arrives(const Bhs& bhs);
  Status data_out_arrived(const Bhs& bhs);
  void complete(Get& get, ErrorCode status);
  void abort(std::uint32_t target_transfer_tag, Get& get);
  std::uint32_t new_transfer_tag();

  TagMap<Get> gets_;  // by Target Transfer Tag
  // Tags of aborted gets, oldest first. The initiator may have stopped sending for them, so they
  // are forgotten in the end.
  std::deque<std::uint32_t> aborted_;
  std::uint32_t last_transfer_tag_ = 0;
  std::uint32_t arriving_ = kReservedTag;  // of the Data-Out under way
};

}  // namespace openiser::iscsi
