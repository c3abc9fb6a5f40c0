// What leaves a target: numbers every PDU (RFC 7143 sections 4.2.2 and 11.17.3) and hands it to the
// datamover. StatSN counts responses; R2T, Data-In and the NOP-In that answers nothing carry the
// next StatSN, or none, and do not advance it.
#pragma once

#include <cstdint>
#include <utility>

#include "iscsi/datamover.h"
#include "iscsi/session/command_window.h"

namespace openiser::iscsi {

class TargetSender {
 public:
  TargetSender(Datamover& datamover, const CommandWindow& window, std::uint32_t first_stat_sn)
      : datamover_(datamover), window_(window), stat_sn_(first_stat_sn) {}

  // A response that counts.
  template <class Response>
  void respond(Response response, Buffer data = {}) {
    fill_window(response);
    response.stat_sn = stat_sn_++;
    send(encode(response), std::move(data));
  }
  // A NOP-In on our own account (section 11.19.2).
  void ping(NopIn ping);
  // With the header of the rejected PDU (section 11.17.4).
  void reject(const Bhs& bhs, RejectReason reason);
  void put_data(DataIn pdu, Buffer data, bool notify);
  void get_data(R2t pdu, Buffer sink);
  void deallocate_task_resources(std::uint32_t initiator_task_tag);

  // Never kReservedTag. Unique among the tags in use.
  std::uint32_t fresh_transfer_tag();
  std::uint32_t max_data_segment() const { return datamover_.max_send_data_segment(); }
  std::uint32_t data_in_pdus(std::uint32_t length) const { return datamover_.data_in_pdus(length); }

  // From now on nothing is sent: the connection is on its way out.
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  // Starts what has been queued since the last time.
  void flush();
  std::uint64_t rejects() const { return rejects_; }

 private:
  template <class Pdu>
  void fill_window(Pdu& pdu) const {
    pdu.exp_cmd_sn = window_.exp_cmd_sn();
    pdu.max_cmd_sn = window_.max_cmd_sn();
  }
  void send(const Bhs& bhs, Buffer data);

  Datamover& datamover_;
  const CommandWindow& window_;
  std::uint32_t stat_sn_;
  std::uint32_t next_transfer_tag_ = 0;
  std::uint64_t rejects_ = 0;
  bool open_ = true;
  bool queued_ = false;
};

}  // namespace openiser::iscsi
