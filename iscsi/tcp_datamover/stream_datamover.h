// What both roles of the plain datamover share: the connection's life, the control-type PDUs, and
// when the client is told.
//
// The client is told from received(), sent(), expired() and transport_closed() only. What a
// down-call brings about (a get that ends by its task's end) waits in `deferred_` and makes
// deadline() due at once.
//
// A digest error, at either end, ends the connection: with ErrorRecoveryLevel 0 that is session
// recovery (RFC 7143 section 7.8). So do all format and protocol errors found here: the datamover
// has no StatSN for a Reject.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "iscsi/errors.h"
#include "iscsi/tcp_datamover/framer.h"
#include "iscsi/tcp_datamover/pdu_writer.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"

namespace openiser::iscsi {

// How one connection starts, as make_tcp_datamover() is told.
struct StreamStart {
  const Parameters& parameters;
  BufferPool& pool;
  std::vector<std::byte> write_first;
  std::vector<std::byte> already_read;
};

class StreamDatamover : public TcpDatamover, protected PduFramer::Client {
 public:
  // `output_limit`: bytes of queued output beyond which nothing more is read.
  StreamDatamover(StreamStart start, std::size_t output_limit);

  void set_client(DatamoverClient* client) override;
  void send_control(ControlPdu pdu, const TaskMemory* memory) override;
  void flush() override;
  void connection_terminate(ErrorCode why) override;
  std::uint32_t max_send_data_segment() const override {
    return parameters_.max_send_data_segment_length;
  }
  void notice_max_send_data_segment(std::uint32_t bytes) override {
    parameters_.max_send_data_segment_length = bytes;
  }

  void attach(StreamHost* host) override;
  std::size_t receive_space(std::span<MutableBytes> into) override;
  void received(std::size_t n, Time now) override;
  std::size_t gather(std::span<Bytes> out) override;
  void sent(std::size_t n, Time now) override;
  void transport_closed(ErrorCode why, Time now) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  CloseWish close_wish() const override;

 protected:
  // Output has moved or input has come: the initiator cuts more Data-Out PDUs.
  virtual void refill_output() {}
  // The end: whatever is under way is deferred with error `why`.
  virtual void abandon_transfers(ErrorCode why) = 0;

  bool open() const { return phase_ == Phase::open; }
  void notify_control(ControlPdu pdu);
  // For up-calls of the roles' own: the client, with the turn noted.
  DatamoverClient& up();
  const DatamoverClient& client() const { return *client_; }
  // Tells the client later.
  void defer(DataCompletion completion);
  // What transfers end with that are asked for, or still under way, after the end.
  ErrorCode end_reason() const;
  void attention();
  // The largest data segment of a Data-In or Data-Out: a multiple of four, as all but the last of a
  // sequence should be (RFC 7143 section 11.7.7).
  std::uint32_t data_segment() const {
    return parameters_.max_send_data_segment_length & ~std::uint32_t{3};
  }

  Parameters parameters_;
  PduFramer framer_;
  PduWriter writer_;

 private:
  enum class Phase : std::uint8_t {
    open,
    closing,  // what is queued is sent, then the connection closes
    failed,   // it closes at once
    closed,   // the transport is gone and the client has been told
  };

  void fail(ErrorCode why);
  void complete_sent();
  void complete_deferred();
  void end_turn();
  void feed_already_read();

  DatamoverClient* client_;
  StreamHost* host_ = nullptr;
  const std::size_t output_limit_;
  std::vector<std::byte> already_read_;
  std::vector<DataCompletion> deferred_;
  Phase phase_ = Phase::open;
  ErrorCode why_;
  bool reading_paused_ = false;
  bool client_told_ = false;  // in this turn
};

}  // namespace openiser::iscsi
