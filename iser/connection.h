// An iSER connection: puts the parts of this folder together behind the Datamover, LoginChannel and
// QueuePairClient interfaces. Its life: login (rdma-first only) - enabled - ending - ended. Owns
// the queue pair; lives on its thread.
//
// connection.cc has the life cycle, connection_send.cc what the session asks for,
// connection_receive.cc what the queue pair brings.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "iser/hello.h"
#include "iser/initiator_tasks.h"
#include "iser/iser_datamover.h"
#include "iser/message.h"
#include "iser/receive_pool.h"
#include "iser/target_tasks.h"
#include "iser/transfer.h"
#include "iser/unexpected_pdus.h"

namespace openiser::iser {

class Connection final : public IserConnection {
 public:
  Connection(std::unique_ptr<rdmap::QueuePair> queue_pair, Settings settings, BufferPool& pool,
             LoginClient* login);
  ~Connection() override;

  // IserConnection
  Status allocate_connection_resources(const iscsi::Parameters& parameters) override;
  void enable_datamover(iscsi::DatamoverClient& client,
                        std::optional<iscsi::ControlPdu> final_login_response) override;
  rdmap::QueuePair& queue_pair() override { return *queue_pair_; }
  const std::optional<rdmap::Established>& negotiated() const override { return negotiated_; }
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  void attach(StreamHost* host) override { host_ = host; }

  // LoginChannel
  void send(iscsi::ControlPdu pdu) override;

  // Datamover
  void set_client(iscsi::DatamoverClient* client) override { client_ = client; }
  void send_control(iscsi::ControlPdu pdu, const iscsi::TaskMemory* memory) override;
  void put_data(const iscsi::DataIn& pdu, Buffer data, bool notify) override;
  std::uint32_t data_in_pdus(std::uint32_t length) const override;
  void get_data(const iscsi::R2t& pdu, Buffer sink) override;
  void deallocate_task_resources(std::uint32_t initiator_task_tag) override;
  void flush() override;
  void connection_terminate(ErrorCode why) override;
  std::uint32_t max_send_data_segment() const override;

  // QueuePairClient
  void established(const rdmap::Established& how) override;
  void completions_ready() override;
  void disconnected(ErrorCode why) override;

 private:
  // A PDU that may not be sent yet.
  struct Held {
    iscsi::ControlPdu pdu;
    std::optional<iscsi::TaskMemory> memory;
  };
  // What full feature phase needs, from allocate_connection_resources() on.
  struct FullFeature {
    FullFeature(const iscsi::Parameters& negotiated, const Settings& settings,
                rdmap::QueuePair& queue_pair);

    iscsi::Parameters parameters;
    ReceivePlan receives;
    BaseOffset base_offset;
    std::optional<HelloExchange> hello;  // once established
    UnexpectedPdus sent_unexpected;
    UnexpectedPdus received_unexpected;
    InitiatorTasks initiator_tasks;
    TargetTasks target_tasks;
    // Initiator: requests other than commands that have no answer yet.
    std::uint32_t other_requests = 0;
  };

  bool is_target() const { return settings_.role == Role::target; }
  bool over() const { return ending_ || ended_; }

  // --- connection.cc ---
  void begin();
  bool awaiting_first_message() const;
  void fail(ErrorCode error);
  void report_end(ErrorCode why);
  void finish_turn();
  void deliver_deferred();
  void look_at_deadline();
  void defer(iscsi::DataCompletion completion);

  // --- connection_send.cc ---
  bool must_wait(const iscsi::ControlPdu& pdu);
  bool may_overtake(const iscsi::ControlPdu& pdu) const;
  void release_held();
  void send_rest();
  void drop_held_of(std::uint32_t initiator_task_tag);
  void post_control(iscsi::ControlPdu pdu, const iscsi::TaskMemory* memory);
  Result<ControlHeader> prepare_request(const iscsi::ControlPdu& pdu,
                                        const iscsi::TaskMemory* memory);
  std::optional<rdmap::Stag> prepare_answer(const iscsi::ControlPdu& pdu);
  void provide_for_answer(iscsi::Opcode opcode);
  void post_message(const ControlHeader& header, iscsi::ControlPdu pdu,
                    std::optional<rdmap::Stag> invalidate, rdmap::WorkId id = 0);
  template <class Announcement>
  void post_announcement(const Announcement& announcement);
  bool solicits_event(const iscsi::Bhs& bhs) const;

  // --- connection_receive.cc ---
  void completed(rdmap::Completion& completion);
  void transferred(rdmap::Completion& completion);
  void received(rdmap::Completion& completion);
  void received_login(rdmap::Completion& completion);
  void notify(iscsi::ControlPdu pdu);
  bool must_park(const iscsi::ControlPdu& pdu) const;
  void release_parked();
  bool pass_hello(Bytes message);
  void note_reads();
  iscsi::ControlPdu take_pdu(const MessageLayout& layout, rdmap::Completion& completion);
  void recycle(rdmap::Completion& completion);
  ErrorCode admit(const iscsi::ControlPdu& pdu, const ControlHeader& header,
                  std::optional<rdmap::Stag> invalidated);
  ErrorCode admit_answer(const iscsi::ControlPdu& pdu, std::optional<rdmap::Stag> invalidated);
  ErrorCode admit_request(const iscsi::ControlPdu& pdu, const ControlHeader& header);

  const std::unique_ptr<rdmap::QueuePair> queue_pair_;  // goes last: regions refer to it
  Settings settings_;
  BufferPool& pool_;
  LoginClient* login_;
  iscsi::DatamoverClient* client_ = nullptr;
  StreamHost* host_ = nullptr;
  std::optional<rdmap::Established> negotiated_;
  ReceivePool receives_;
  Transfer transfer_;
  std::optional<FullFeature> full_;
  std::deque<Held> held_;
  // Initiator: received PDUs behind a SCSI Response whose task's memory is still being sent.
  std::deque<iscsi::ControlPdu> parked_;
  // Outcomes that became known inside a down-call: told at the next turn.
  std::vector<iscsi::DataCompletion> deferred_;
  bool invalidate_remotely_;

  bool enabled_ = false;     // full feature phase
  bool ending_ = false;      // we have asked the queue pair to disconnect
  bool ended_ = false;       // it has
  bool terminated_ = false;  // on the session's wish: `end_reason_` may be no error
  bool end_untold_ = false;  // it ended before there was a client to tell
  ErrorCode end_reason_;
  // While the peer's first message is awaited: when to give up, once expired() has told the time.
  std::optional<Time> patience_;
  bool out_of_patience_ = false;

  std::array<rdmap::Completion, 64> batch_;
};

}  // namespace openiser::iser
