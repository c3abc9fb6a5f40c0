// Stands between a session and its datamover and keeps the connection's last events (base/
// event_ring.h): each primitive of RFC 5047 section 8, with its task and size. It changes nothing
// and copies nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/event_ring.h"
#include "iscsi/datamover.h"

namespace openiser::iscsi {

class Recorder final : public Datamover, public DatamoverClient {
 public:
  // Both outlive it.
  Recorder(Datamover& datamover, const Clock& clock) : datamover_(datamover), clock_(clock) {}

  // The last events, a line each.
  std::string events() const { return events_.text(clock_.now()); }
  // Writes the events to the log: as a warning after a fault, else at debug level.
  void log_events(std::string_view who, bool fault) const;

  void set_client(DatamoverClient* client) override;
  void send_control(ControlPdu pdu, const TaskMemory* memory) override;
  void put_data(const DataIn& pdu, Buffer data, bool notify) override;
  std::uint32_t data_in_pdus(std::uint32_t length) const override;
  void get_data(const R2t& pdu, Buffer sink) override;
  void deallocate_task_resources(std::uint32_t initiator_task_tag) override;
  void flush() override {
    fresh_ = false;
    datamover_.flush();
  }
  void connection_terminate(ErrorCode why) override;
  void notice_max_send_data_segment(std::uint32_t bytes) override {
    datamover_.notice_max_send_data_segment(bytes);
  }
  std::uint32_t max_send_data_segment() const override;

  void control_notify(ControlPdu pdu) override;
  void data_completion_notify(DataCompletion completion) override;
  void data_ack_notify(std::uint32_t initiator_task_tag, std::uint32_t data_sn) override;
  void connection_terminate_notify(ErrorCode why) override;
  void turn_ended() override {
    fresh_ = false;
    client_->turn_ended();
  }
  std::uint32_t exp_stat_sn() const override { return client_->exp_stat_sn(); }
  void window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) override;

 private:
  void add(const char* what, std::uint64_t a = 0, std::uint64_t b = 0) {
    if (!std::exchange(fresh_, true)) time_ = clock_.now();
    events_.add(time_, what, a, b);
  }

  Datamover& datamover_;
  const Clock& clock_;
  DatamoverClient* client_ = nullptr;
  EventRing events_;
  // Of the first event of a turn, and good for all of it: a clock is not looked at for each PDU.
  Time time_;
  bool fresh_ = false;
};

}  // namespace openiser::iscsi
