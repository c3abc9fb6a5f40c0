#include "iscsi/tcp_datamover/stream_datamover.h"

#include <algorithm>

#include "base/assert.h"

namespace openiser::iscsi {
namespace {

// Who is told when there is no client.
class Nobody final : public DatamoverClient {
  void control_notify(ControlPdu) override {}
  void data_completion_notify(DataCompletion) override {}
  void connection_terminate_notify(ErrorCode) override {}
};
Nobody nobody;

PduFramer::Settings framer_settings(const Parameters& parameters) {
  return {parameters.header_digest == Digest::crc32c, parameters.data_digest == Digest::crc32c,
          parameters.max_recv_data_segment_length};
}

}  // namespace

StreamDatamover::StreamDatamover(StreamStart start, std::size_t output_limit)
    : parameters_(start.parameters),
      framer_(*this, framer_settings(parameters_), start.pool),
      writer_(parameters_.header_digest == Digest::crc32c,
              parameters_.data_digest == Digest::crc32c),
      client_(&nobody),
      output_limit_(output_limit),
      already_read_(std::move(start.already_read)) {
  ISER_ASSERT(data_segment() > 0);
  writer_.output().append_copy(start.write_first);
}

// --- down-calls ---

void StreamDatamover::set_client(DatamoverClient* client) {
  client_ = client ? client : &nobody;
}

void StreamDatamover::send_control(ControlPdu pdu, const TaskMemory*) {
  if (!open()) return;
  if (writer_.write(pdu.bhs, pdu.ahs.bytes(), pdu.data.bytes())) writer_.keep(std::move(pdu.data));
}

void StreamDatamover::flush() {
  attention();
}

void StreamDatamover::connection_terminate(ErrorCode why) {
  if (phase_ == Phase::failed || phase_ == Phase::closed) return;
  if (!why) {
    phase_ = Phase::closing;
    framer_.stop();
    attention();
  } else {
    fail(why);
  }
}

// --- the stream ---

void StreamDatamover::attach(StreamHost* host) {
  host_ = host;
  if (!already_read_.empty()) attention();
}

std::size_t StreamDatamover::receive_space(std::span<MutableBytes> into) {
  if (phase_ == Phase::failed || phase_ == Phase::closed || !already_read_.empty()) return 0;
  if (writer_.output().size() > output_limit_) reading_paused_ = open();
  if (reading_paused_) return 0;
  return framer_.receive_space(into);
}

void StreamDatamover::received(std::size_t n, Time) {
  const Status status = framer_.received(n);
  if (!status && open()) fail(status.error());
  refill_output();
  complete_deferred();
  end_turn();
}

std::size_t StreamDatamover::gather(std::span<Bytes> out) {
  return writer_.output().gather(out);
}

void StreamDatamover::sent(std::size_t n, Time) {
  writer_.output().consume(n);
  refill_output();
  if (reading_paused_ && writer_.output().size() <= output_limit_ / 2) {
    reading_paused_ = false;
    attention();
  }
  complete_sent();
  complete_deferred();
  end_turn();
}

void StreamDatamover::transport_closed(ErrorCode why, Time) {
  if (phase_ == Phase::closed) return;
  if (phase_ == Phase::open) why_ = why ? why : errc::connection_closed;
  phase_ = Phase::closed;
  framer_.stop();
  writer_.output().clear();
  abandon_transfers(end_reason());
  for (PduWriter::Lease lease; writer_.take_any(lease);) {
    if (!lease.notice.wanted) continue;
    defer({DataCompletion::Kind::put, lease.notice.initiator_task_tag, lease.notice.sequence_number,
           end_reason(), std::move(lease.buffer)});
  }
  complete_deferred();
  std::exchange(client_, &nobody)->connection_terminate_notify(why_);
}

std::optional<Time> StreamDatamover::deadline() const {
  if (phase_ == Phase::closed || (deferred_.empty() && already_read_.empty())) return {};
  return Time();  // long past: due at once
}

void StreamDatamover::expired(Time) {
  feed_already_read();
  refill_output();
  complete_deferred();
  end_turn();
}

CloseWish StreamDatamover::close_wish() const {
  switch (phase_) {
    case Phase::open:
      return CloseWish::none;
    case Phase::closing:
      return CloseWish::after_sending;
    case Phase::failed:
    case Phase::closed:
      break;
  }
  return CloseWish::at_once;
}

// --- inside ---

void StreamDatamover::feed_already_read() {
  if (already_read_.empty()) return;
  Bytes rest = already_read_;
  while (!rest.empty() && open()) {
    std::array<MutableBytes, 2> places;
    const std::size_t count = framer_.receive_space(places);
    std::size_t fed = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = std::min(places[i].size(), rest.size());
      if (n > 0) std::memcpy(places[i].data(), rest.data(), n);
      rest = rest.subspan(n);
      fed += n;
    }
    const Status status = framer_.received(fed);
    if (!status && open()) fail(status.error());
  }
  already_read_ = {};
  attention();
}

void StreamDatamover::complete_sent() {
  for (PduWriter::Lease lease; writer_.take_sent(lease);) {
    if (!lease.notice.wanted) continue;
    const ErrorCode status = lease.notice.aborted ? ErrorCode(errc::task_aborted) : ErrorCode();
    up().data_completion_notify({DataCompletion::Kind::put, lease.notice.initiator_task_tag,
                                 lease.notice.sequence_number, status, std::move(lease.buffer)});
  }
}

// The client may cause more of them meanwhile.
void StreamDatamover::complete_deferred() {
  while (!deferred_.empty()) {
    for (DataCompletion& completion : std::exchange(deferred_, {}))
      up().data_completion_notify(std::move(completion));
  }
}

void StreamDatamover::end_turn() {
  if (std::exchange(client_told_, false)) client_->turn_ended();
}

void StreamDatamover::fail(ErrorCode why) {
  phase_ = Phase::failed;
  why_ = why;
  framer_.stop();
  attention();
}

void StreamDatamover::notify_control(ControlPdu pdu) {
  up().control_notify(std::move(pdu));
}

DatamoverClient& StreamDatamover::up() {
  client_told_ = true;
  return *client_;
}

void StreamDatamover::defer(DataCompletion completion) {
  deferred_.push_back(std::move(completion));
  attention();
}

ErrorCode StreamDatamover::end_reason() const {
  return why_ ? why_ : ErrorCode(errc::terminated);
}

void StreamDatamover::attention() {
  if (host_) host_->attention();
}

}  // namespace openiser::iscsi
