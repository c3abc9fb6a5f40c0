// Two datamovers joined in memory: what one session sends the other gets, and data is copied at
// once between the initiator's memory and the target's buffers. Nothing moves before flush(), and
// then one event at a time, so that a test can stop, cut the link or end a session in between.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <variant>
#include <vector>

#include "iscsi/datamover.h"
#include "iscsi/errors.h"
#include "tests/support/fake_datamover.h"
#include "tests/support/sequence_monitor.h"

namespace openiser::test {

class SessionLink {
 public:
  SessionLink(const Parameters& parameters, unsigned seed)
      : initiator_side(*this),
        target_side(*this),
        random_(seed),
        initiator_monitor_(parameters),
        target_monitor_(parameters),
        segment_(parameters.max_send_data_segment_length) {}

  class InitiatorSide final : public Datamover {
   public:
    explicit InitiatorSide(SessionLink& link) : link_(link) {}
    void set_client(DatamoverClient* client) override { link_.initiator_ = client; }
    void send_control(ControlPdu pdu, const TaskMemory* memory) override {
      const FakeDatamover::Control control = link_.control_of(pdu);
      link_.initiator_monitor_.control_pdu(control);
      if (memory) link_.memory_[pdu.bhs.initiator_task_tag()] = *memory;
      link_.staged_to_target_.push_back(copy_of(control));
    }
    void put_data(const DataIn&, Buffer, bool) override { ADD_FAILURE() << "a target's call"; }
    void get_data(const R2t&, Buffer) override { ADD_FAILURE() << "a target's call"; }
    std::uint32_t data_in_pdus(std::uint32_t) const override { return 1; }
    void deallocate_task_resources(std::uint32_t tag) override { link_.memory_.erase(tag); }
    void flush() override { move_all(link_.staged_to_target_, link_.to_target_); }
    void connection_terminate(ErrorCode why) override {
      flush();
      link_.terminate(why, link_.to_target_);
    }
    std::uint32_t max_send_data_segment() const override { return link_.segment_; }

   private:
    SessionLink& link_;
  };

  class TargetSide final : public Datamover {
   public:
    explicit TargetSide(SessionLink& link) : link_(link) {}
    void set_client(DatamoverClient* client) override { link_.target_ = client; }
    void send_control(ControlPdu pdu, const TaskMemory*) override {
      const FakeDatamover::Control control = link_.control_of(pdu);
      link_.target_monitor_.control_pdu(control.bhs);
      link_.staged_to_initiator_.push_back(copy_of(control));
    }
    void put_data(const DataIn& pdu, Buffer data, bool notify) override {
      link_.target_monitor_.data_in(pdu, data.size(),
                                    data_in_pdus(static_cast<std::uint32_t>(data.size())));
      link_.staged_to_initiator_.push_back(Put{pdu, std::move(data), notify});
    }
    void get_data(const R2t& pdu, Buffer sink) override {
      link_.target_monitor_.r2t(pdu);
      link_.staged_to_initiator_.push_back(Get{pdu, std::move(sink), false});
    }
    std::uint32_t data_in_pdus(std::uint32_t length) const override {
      return (length + link_.segment_ - 1) / link_.segment_;
    }
    void deallocate_task_resources(std::uint32_t tag) override {
      for (auto* queue : {&link_.staged_to_initiator_, &link_.to_initiator_}) {
        for (Event& event : *queue) {
          if (auto* get = std::get_if<Get>(&event); get && get->pdu.initiator_task_tag == tag)
            get->aborted = true;
          if (auto* put = std::get_if<Put>(&event); put && put->pdu.initiator_task_tag == tag)
            put->aborted = true;
        }
      }
    }
    void flush() override { move_all(link_.staged_to_initiator_, link_.to_initiator_); }
    void connection_terminate(ErrorCode why) override {
      flush();
      link_.terminate(why, link_.to_initiator_);
    }
    std::uint32_t max_send_data_segment() const override { return link_.segment_; }

   private:
    SessionLink& link_;
  };

  InitiatorSide initiator_side;
  TargetSide target_side;

  // One event, from a direction chosen at random. False: nothing is under way.
  bool step() {
    if (closed_) return false;
    std::vector<std::function<void()>> choices;
    if (!to_target_.empty()) choices.push_back([this] { step_to_target(); });
    if (!to_initiator_.empty()) choices.push_back([this] { step_to_initiator(); });
    if (!completions_.empty()) choices.push_back([this] { step_completion(); });
    if (choices.empty()) return false;
    choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random_)]();
    return true;
  }
  // The link is cut.
  void cut(ErrorCode why = errc::connection_closed) {
    if (std::exchange(closed_, true)) return;
    // Leases come back first, also those that come in answer to others.
    do {
      return_leases(to_initiator_, why);
      return_leases(staged_to_initiator_, why);
      if (!completions_.empty()) step_completion();
    } while (!completions_.empty() || !staged_to_initiator_.empty() || !to_initiator_.empty());
    to_target_.clear();
    staged_to_target_.clear();
    memory_.clear();
    target_->connection_terminate_notify(why);
    initiator_->connection_terminate_notify(why);
  }
  bool closed() const { return closed_; }
  bool idle() const { return to_target_.empty() && to_initiator_.empty() && completions_.empty(); }
  bool nothing_staged() const { return staged_to_target_.empty() && staged_to_initiator_.empty(); }

 private:
  struct Put {
    DataIn pdu;
    Buffer data;
    bool notify = false;
    bool aborted = false;
  };
  struct Get {
    R2t pdu;
    Buffer sink;
    bool aborted = false;
  };
  struct Close {
    ErrorCode why;
  };
  using Event = std::variant<ControlPdu, Put, Get, Close>;
  using Queue = std::deque<Event>;

  static void move_all(Queue& from, Queue& to) {
    for (Event& event : from) to.push_back(std::move(event));
    from.clear();
  }
  static ControlPdu copy_of(const FakeDatamover::Control& control) {
    return {control.bhs, control.ahs.empty() ? Buffer() : Buffer::copy_of(control.ahs),
            control.data.empty() ? Buffer() : Buffer::copy_of(control.data)};
  }
  FakeDatamover::Control control_of(const ControlPdu& pdu) const {
    FakeDatamover::Control control{
        pdu.bhs, copy_bytes(pdu.ahs.bytes()), copy_bytes(pdu.data.bytes()), {}};
    control.bhs.set_data_segment_length(static_cast<std::uint32_t>(control.data.size()));
    control.bhs.set_total_ahs_length(control.ahs.size());
    EXPECT_LE(control.data.size(), segment_);
    return control;
  }
  void return_leases(Queue& queue, ErrorCode why) {
    for (Event& event : std::exchange(queue, {})) {
      if (auto* get = std::get_if<Get>(&event)) complete(std::move(*get), why);
      if (auto* put = std::get_if<Put>(&event)) complete(std::move(*put), why);
    }
  }
  // Behind what is queued if `why` is no error, else at once.
  void terminate(ErrorCode why, Queue& queue) {
    if (why)
      queue.push_front(Close{why});
    else
      queue.push_back(Close{{}});
  }

  void step_to_target() {
    Event event = std::move(to_target_.front());
    to_target_.pop_front();
    if (const auto* close = std::get_if<Close>(&event)) return cut(close->why);
    target_->control_notify(std::get<ControlPdu>(std::move(event)));
    if (target_) target_->turn_ended();
  }

  void step_to_initiator() {
    Event event = std::move(to_initiator_.front());
    to_initiator_.pop_front();
    if (const auto* close = std::get_if<Close>(&event)) return cut(close->why);
    if (auto* put = std::get_if<Put>(&event)) return do_put(std::move(*put));
    if (auto* get = std::get_if<Get>(&event)) return do_get(std::move(*get));
    ControlPdu pdu = std::get<ControlPdu>(std::move(event));
    initiator_monitor_.granted(pdu.bhs.max_cmd_sn());
    if (pdu.bhs.opcode() != Opcode::nop_in || pdu.bhs.initiator_task_tag() != kReservedTag)
      initiator_monitor_.status_received(pdu.bhs.stat_sn());
    if (pdu.bhs.opcode() == Opcode::scsi_response) memory_.erase(pdu.bhs.initiator_task_tag());
    initiator_->control_notify(std::move(pdu));
    initiator_->turn_ended();
  }

  void do_put(Put put) {
    const auto found = memory_.find(put.pdu.initiator_task_tag);
    if (!put.aborted) {
      if (found == memory_.end() ||
          put.pdu.buffer_offset + put.data.size() > found->second.in.size()) {
        ADD_FAILURE() << "Data-In outside of its task's memory";
      } else {
        std::memcpy(found->second.in.data() + put.pdu.buffer_offset, put.data.data(),
                    put.data.size());
      }
      notify_window(put.pdu.exp_cmd_sn, put.pdu.max_cmd_sn);
    }
    complete(std::move(put), {});
  }
  void do_get(Get get) {
    if (get.aborted) return complete(std::move(get), errc::task_aborted);
    const auto found = memory_.find(get.pdu.initiator_task_tag);
    if (found == memory_.end() ||
        get.pdu.buffer_offset + get.sink.size() > found->second.out.size()) {
      ADD_FAILURE() << "R2T outside of its task's memory";
      return complete(std::move(get), errc::protocol_error);
    }
    std::memcpy(get.sink.data(), found->second.out.data() + get.pdu.buffer_offset, get.sink.size());
    notify_window(get.pdu.exp_cmd_sn, get.pdu.max_cmd_sn);
    complete(std::move(get), {});
  }
  void notify_window(std::uint32_t exp, std::uint32_t max) {
    initiator_monitor_.granted(max);
    initiator_->window_notify(exp, max);
    initiator_->turn_ended();
  }
  void complete(Put put, ErrorCode why) {
    if (!put.notify) return;
    completions_.push_back({DataCompletion::Kind::put, put.pdu.initiator_task_tag, put.pdu.data_sn,
                            why, std::move(put.data)});
  }
  void complete(Get get, ErrorCode why) {
    completions_.push_back({DataCompletion::Kind::get, get.pdu.initiator_task_tag, get.pdu.r2t_sn,
                            why, std::move(get.sink)});
  }
  void step_completion() {
    DataCompletion completion = std::move(completions_.front());
    completions_.pop_front();
    target_->data_completion_notify(std::move(completion));
    target_->turn_ended();
  }

  std::mt19937 random_;
  InitiatorMonitor initiator_monitor_;
  TargetMonitor target_monitor_;
  std::uint32_t segment_;
  DatamoverClient* initiator_ = nullptr;
  DatamoverClient* target_ = nullptr;
  Queue to_target_, staged_to_target_;
  Queue to_initiator_, staged_to_initiator_;
  std::deque<DataCompletion> completions_;
  std::map<std::uint32_t, TaskMemory> memory_;
  bool closed_ = false;
};

}  // namespace openiser::test
