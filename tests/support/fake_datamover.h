// A Datamover without a wire: keeps what it is told, and says to its client what a test wants.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "iscsi/datamover.h"
#include "iscsi/errors.h"

namespace openiser::test {

using namespace iscsi;  // NOLINT: tests speak of little else

inline std::vector<std::byte> copy_bytes(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

class FakeDatamover final : public Datamover {
 public:
  struct Control {
    Bhs bhs;
    std::vector<std::byte> ahs;
    std::vector<std::byte> data;
    std::optional<TaskMemory> memory;
    Opcode opcode() const { return bhs.opcode(); }
    template <class T>
    T as() const {
      const auto pdu = decode<T>(bhs);
      EXPECT_TRUE(pdu) << "opcode " << static_cast<int>(opcode());
      return pdu ? *pdu : T{};
    }
  };
  struct Put {
    DataIn pdu;
    std::vector<std::byte> data;
    bool notify;
  };
  struct Get {
    R2t pdu;
    Buffer sink;
  };

  // --- what was asked of it; tests take away what they have looked at ---
  std::deque<Control> sent;
  std::deque<Put> puts;
  std::deque<Get> gets;
  std::vector<std::uint32_t> deallocated;
  std::vector<ErrorCode> terminations;
  int flushes = 0;
  // Sees everything in order, before it is queued above.
  std::function<void(const Control&)> on_control;
  std::function<void(const Put&)> on_put;
  std::function<void(const R2t&)> on_get;

  // --- how it behaves ---
  std::uint32_t max_segment = 8192;
  void notice_max_send_data_segment(std::uint32_t bytes) override { max_segment = bytes; }
  std::uint32_t data_in_size = 8192;

  // --- up-calls ---
  template <class Pdu>
  void deliver(const Pdu& pdu, Bytes data = {}, Bytes ahs = {}) {
    deliver_raw(encode(pdu), data, ahs);
  }
  void deliver_raw(Bhs bhs, Bytes data = {}, Bytes ahs = {}) {
    up_call([&] {
      bhs.set_data_segment_length(static_cast<std::uint32_t>(data.size()));
      bhs.set_total_ahs_length(ahs.size());
      client_->control_notify({bhs, ahs.empty() ? Buffer() : Buffer::copy_of(ahs),
                               data.empty() ? Buffer() : Buffer::copy_of(data)});
    });
    end_turn();
  }
  // Puts with `notify` give their leases back.
  void complete_puts() {
    while (!completions_.empty()) complete_one_put();
  }
  void complete_one_put() {
    DataCompletion completion = std::move(completions_.front());
    completions_.pop_front();
    up_call([&] { client_->data_completion_notify(std::move(completion)); });
    end_turn();
  }
  std::size_t puts_to_complete() const { return completions_.size(); }
  // The oldest get is done: its data comes from `write_buffer`.
  void complete_get(Bytes write_buffer) {
    Get get = std::move(gets.front());
    gets.pop_front();
    const Bytes data =
        write_buffer.subspan(get.pdu.buffer_offset, get.pdu.desired_data_transfer_length);
    EXPECT_EQ(get.sink.size(), data.size());
    std::memcpy(get.sink.data(), data.data(), data.size());
    complete(std::move(get), {});
  }
  // What deallocate_task_resources() has cut off comes back.
  void return_aborted() {
    while (!aborted_.empty()) {
      Get get = std::move(aborted_.front());
      aborted_.pop_front();
      complete(std::move(get), errc::task_aborted);
    }
  }
  // The connection is gone: leases come back, then the last call.
  void drop(ErrorCode why = errc::connection_closed) {
    gone_ = true;
    while (!gets.empty()) {
      aborted_.push_back(std::move(gets.front()));
      gets.pop_front();
    }
    return_aborted();
    complete_puts();
    up_call([&] { client_->connection_terminate_notify(why); });
    client_ = nullptr;
  }
  bool terminated() const { return !terminations.empty(); }

  template <class T>
  T take() {
    if (sent.empty()) {
      ADD_FAILURE() << "nothing was sent";
      return {};
    }
    last = std::move(sent.front());
    sent.pop_front();
    return last.as<T>();
  }
  // The last PDU that take() took.
  Control last;

  // --- Datamover ---
  void set_client(DatamoverClient* client) override { client_ = client; }
  void send_control(ControlPdu pdu, const TaskMemory* memory) override {
    down_call();
    Control control{pdu.bhs, copy_bytes(pdu.ahs.bytes()), copy_bytes(pdu.data.bytes()),
                    memory ? std::optional(*memory) : std::nullopt};
    control.bhs.set_data_segment_length(static_cast<std::uint32_t>(control.data.size()));
    control.bhs.set_total_ahs_length(control.ahs.size());
    EXPECT_LE(control.data.size(), max_segment);
    if (on_control) on_control(control);
    sent.push_back(std::move(control));
  }
  void put_data(const DataIn& pdu, Buffer data, bool notify) override {
    down_call();
    Put put{pdu, copy_bytes(data.bytes()), notify};
    if (on_put) on_put(put);
    if (notify) {
      completions_.push_back(
          {DataCompletion::Kind::put, pdu.initiator_task_tag, pdu.data_sn, {}, std::move(data)});
    }
    puts.push_back(std::move(put));
  }
  std::uint32_t data_in_pdus(std::uint32_t length) const override {
    return (length + data_in_size - 1) / data_in_size;
  }
  void get_data(const R2t& pdu, Buffer sink) override {
    down_call();
    EXPECT_EQ(sink.size(), pdu.desired_data_transfer_length);
    if (on_get) on_get(pdu);
    gets.push_back({pdu, std::move(sink)});
  }
  void deallocate_task_resources(std::uint32_t initiator_task_tag) override {
    down_call();
    deallocated.push_back(initiator_task_tag);
    for (auto at = gets.begin(); at != gets.end();) {
      if (at->pdu.initiator_task_tag != initiator_task_tag) {
        ++at;
        continue;
      }
      aborted_.push_back(std::move(*at));
      at = gets.erase(at);
    }
  }
  void flush() override {
    down_call();
    ++flushes;
  }
  void connection_terminate(ErrorCode why) override {
    EXPECT_FALSE(gone_) << "terminated after connection_terminate_notify()";
    terminations.push_back(why);
  }
  std::uint32_t max_send_data_segment() const override { return max_segment; }

 private:
  void down_call() const {
    EXPECT_FALSE(gone_) << "called after the connection was gone";
    EXPECT_TRUE(terminations.empty()) << "called after connection_terminate()";
  }
  void complete(Get get, ErrorCode status) {
    up_call([&] {
      client_->data_completion_notify({DataCompletion::Kind::get, get.pdu.initiator_task_tag,
                                       get.pdu.r2t_sn, status, std::move(get.sink)});
    });
    end_turn();
  }
  template <class Call>
  void up_call(Call call) {
    ASSERT_NE(client_, nullptr);
    call();
  }
  void end_turn() {
    if (client_) client_->turn_ended();
  }

  DatamoverClient* client_ = nullptr;
  std::deque<DataCompletion> completions_;
  std::deque<Get> aborted_;
  bool gone_ = false;
};

}  // namespace openiser::test
