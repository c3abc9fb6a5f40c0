// RDMAP over a byte stream: MPA start-up, then Full Operation, then the end. This file joins the
// parts of the folder and owns the order in which things happen at the start and at the end.
#include <algorithm>
#include <cstring>
#include <utility>

#include "rdmap/core/ddp_placement.h"
#include "rdmap/core/exposed_memory.h"
#include "rdmap/core/fpdu_receiver.h"
#include "rdmap/core/mpa_start_up.h"
#include "rdmap/core/read_queue.h"
#include "rdmap/core/terminate_message.h"
#include "rdmap/core/transmitter.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/errors.h"
#include "rdmap/iwarp.h"

namespace openiser::rdmap {
namespace {

// From the decision to end until the transport is dropped, whatever is still to be sent.
constexpr Duration kCloseTimeout = std::chrono::seconds(5);

class Iwarp final : public IwarpQueuePair {
 public:
  Iwarp(MpaRole role, MpaSettings settings, Time now, Upgrade upgrade, MpaDecision decision);

  // QueuePair.
  void set_client(QueuePairClient* client) override { client_ = client; }
  Capabilities capabilities() const override;
  Result<MemoryRegion> register_memory(MutableBytes memory, Access access) override;
  void post_receive(Buffer buffer, WorkId id) override;
  void post_send(SendWork work) override { post(Work::of(std::move(work))); }
  void post_write(WriteWork work) override { post(Work::of(std::move(work))); }
  void post_read(ReadWork work) override { post(Work::of(std::move(work))); }
  void flush() override;
  std::size_t poll(std::span<Completion> out) override { return completions_.poll(out); }
  void disconnect(ErrorCode reason) override;

  // StreamEndpoint.
  void attach(StreamHost* host) override;
  // What was read before the upgrade comes first.
  std::size_t receive_space(std::span<MutableBytes> into) override {
    return already_read_.empty() ? receiver_.space(into) : 0;
  }
  void received(std::size_t n, Time now) override;
  std::size_t gather(std::span<Bytes> out) override { return muted_ ? 0 : output_.gather(out); }
  void sent(std::size_t n, Time now) override;
  void transport_closed(ErrorCode why, Time now) override;
  std::optional<Time> deadline() const override;
  void expired(Time now) override;
  CloseWish close_wish() const override { return wish_; }

 private:
  enum class State {
    starting,   // MPA frames are exchanged
    open,       // Full Operation
    closing,    // disconnect() was called: what is flushed is still sent
    finishing,  // nothing more is queued for sending, nothing received is looked at
    ended,      // the transport is gone and the client has been told
  };
  bool in_full_operation() const { return state_ == State::open || state_ == State::closing; }
  // RFC 5044 section 7.1.2: a responder sends no FPDU before it has validated one.
  bool may_send() const { return role_ == MpaRole::initiator || receiver_.validated_one(); }

  void deregister(Stag stag) override;
  void post(Work&& work);

  void feed(Bytes bytes);
  void process_input();
  void start_up();
  void enter_full_operation();
  void full_operation();
  void send_what_may_go();

  void end_with(ErrorCode why, const RefusedUlpdu& refused);
  void terminated_by_peer(ErrorCode why);
  void finish(ErrorCode why, CloseWish wish);
  ErrorCode final_reason(ErrorCode transport);
  // The end of every call of the transport's.
  void end_turn(Time now);
  void look_again() {
    if (host_) host_->attention();
  }

  MpaRole role_;
  MpaSettings settings_;
  MpaStartUp start_up_;
  std::vector<std::byte> already_read_;

  OutputQueue output_;
  WorkQueue works_;
  ReceiveQueue receives_;
  CompletionQueue completions_;
  ExposedMemory memory_;
  ReadRequester requester_;
  ReadResponder responder_;
  DdpPlacement placement_;
  FpduReceiver receiver_;
  Transmitter transmitter_;

  StreamHost* host_ = nullptr;
  QueuePairClient* client_ = nullptr;
  State state_ = State::starting;
  CloseWish wish_ = CloseWish::none;
  // What is still in the output stays there: the transport may have hold of it.
  bool muted_ = false;
  // Why it ends; the first reason stays.
  std::optional<ErrorCode> why_;
  Time last_now_;
  std::optional<Time> close_deadline_;
};

Iwarp::Iwarp(MpaRole role, MpaSettings settings, Time now, Upgrade upgrade, MpaDecision decision)
    : role_(role),
      settings_(settings),
      start_up_(role, std::move(settings), now, std::move(decision)),
      already_read_(std::move(upgrade.already_read)),
      memory_(settings_.max_regions, settings_.zero_based_offsets, output_),
      requester_(memory_.stags().unused_stag()),
      placement_(memory_, receives_, completions_, requester_, responder_),
      receiver_(placement_),
      transmitter_(output_, works_, requester_, responder_, memory_),
      last_now_(now) {
  output_.append_copy(upgrade.write_first);
  output_.append_copy(start_up_.take_output());
}

// --- QueuePair ---

Capabilities Iwarp::capabilities() const {
  const bool settled = start_up_.state() == MpaStartUp::State::established;
  return {
      .outbound_reads = settled ? start_up_.settled().outbound_reads : settings_.outbound_reads,
      .inbound_reads = settled ? start_up_.settled().inbound_reads : settings_.inbound_reads,
      .remote_invalidate = true,
      .zero_based_offsets = settings_.zero_based_offsets,
      .max_send = settings_.max_send,
  };
}

Result<MemoryRegion> Iwarp::register_memory(MutableBytes memory, Access access) {
  const auto entry = memory_.stags().add(memory, access);
  if (!entry) return entry.error();
  return MemoryRegion(this, entry->stag, entry->base_offset, memory.size());
}

void Iwarp::deregister(Stag stag) {
  if (memory_.revoke(stag)) receiver_.stop_placing(stag);
}

void Iwarp::post_receive(Buffer buffer, WorkId id) {
  receives_.post(std::move(buffer), id);
  if (state_ == State::ended) receives_.abandon(errc::not_connected, completions_);
}

void Iwarp::post(Work&& work) {
  works_.post(std::move(work));
  if (state_ == State::ended) works_.abandon(errc::not_connected, completions_);
}

void Iwarp::flush() {
  if (state_ == State::starting || state_ == State::open) works_.flush();
  if (state_ != State::open) return;
  send_what_may_go();
  look_again();
}

void Iwarp::disconnect(ErrorCode reason) {
  if (state_ == State::starting) {
    finish(reason, CloseWish::at_once);
  } else if (state_ == State::open) {
    state_ = State::closing;
    why_ = reason;
    send_what_may_go();
  }
  look_again();
}

// --- StreamEndpoint ---

void Iwarp::attach(StreamHost* host) {
  host_ = host;
  look_again();
}

void Iwarp::received(std::size_t n, Time now) {
  receiver_.filled(n);
  process_input();
  end_turn(now);
}

void Iwarp::sent(std::size_t n, Time now) {
  output_.consume(n);
  transmitter_.sent();
  send_what_may_go();
  end_turn(now);
}

// No value while nothing is due; what has passed is due now.
std::optional<Time> Iwarp::deadline() const {
  if (state_ == State::ended) return std::nullopt;
  const bool closing = why_.has_value();
  if (completions_.has_news() || !already_read_.empty() || (closing && !close_deadline_))
    return last_now_;
  if (closing) return close_deadline_;
  return start_up_.deadline();
}

void Iwarp::expired(Time now) {
  if (!already_read_.empty()) feed(std::exchange(already_read_, {}));
  if (close_deadline_ && now >= *close_deadline_) wish_ = CloseWish::at_once;
  if (state_ == State::starting) {
    start_up_.expired(now);
    start_up();
  }
  end_turn(now);
}

void Iwarp::transport_closed(ErrorCode why, Time now) {
  if (state_ == State::ended) return;
  const ErrorCode reason = final_reason(why);
  state_ = State::ended;
  wish_ = CloseWish::at_once;
  receiver_.discard();
  output_.clear();
  works_.abandon(errc::flushed, completions_);
  receives_.abandon(errc::flushed, completions_);
  end_turn(now);
  if (client_) client_->disconnected(reason);
}

// --- input ---

void Iwarp::feed(Bytes bytes) {
  while (!bytes.empty()) {
    MutableBytes place;
    receiver_.space({&place, 1});
    const std::size_t n = std::min(place.size(), bytes.size());
    std::memcpy(place.data(), bytes.data(), n);
    receiver_.filled(n);
    process_input();
    bytes = bytes.subspan(n);
  }
}

void Iwarp::process_input() {
  if (state_ == State::starting) {
    receiver_.drop(start_up_.received(receiver_.staged()));
    start_up();
  }
  if (in_full_operation()) full_operation();
}

// Acts on the outcome of the start-up, if there is one by now.
void Iwarp::start_up() {
  output_.append_copy(start_up_.take_output());
  switch (start_up_.state()) {
    case MpaStartUp::State::going_on:
      return;
    case MpaStartUp::State::established:
      return enter_full_operation();
    case MpaStartUp::State::rejected:
      return finish(start_up_.error(), CloseWish::after_sending);
    case MpaStartUp::State::failed:
      break;
  }
  if (!start_up_.terminates()) return finish(start_up_.error(), CloseWish::at_once);
  // Its only FPDU is the Terminate (RFC 6581 section 8).
  MpaSettled settled = start_up_.settled();
  settled.rtr_to_send = Rtr::none;
  transmitter_.start(settled, settings_.emss, settings_.max_send);
  end_with(start_up_.error(), {});
}

void Iwarp::enter_full_operation() {
  const MpaSettled& settled = start_up_.settled();
  requester_.set_limit(settled.outbound_reads);
  responder_.set_limit(settled.inbound_reads);
  placement_.start(settled.version, settled.rtr_expected.send);
  receiver_.start(settled.crc, settled.markers_received);
  transmitter_.start(settled, settings_.emss, settings_.max_send);
  state_ = State::open;
  if (!client_) return;
  client_->established({.capabilities = capabilities(),
                        .private_data = start_up_.peer_private_data(),
                        .crc = settled.crc,
                        .markers_sent = settled.markers_sent,
                        .markers_received = settled.markers_received});
}

void Iwarp::full_operation() {
  const auto processed = receiver_.process();
  if (processed) {
    send_what_may_go();
  } else if (placement_.peer_terminated()) {
    terminated_by_peer(*placement_.peer_terminated());
  } else {
    end_with(processed.error(), receiver_.refused());
  }
}

// --- output ---

void Iwarp::send_what_may_go() {
  if (!in_full_operation()) return;
  if (may_send()) {
    const auto pumped = transmitter_.pump();
    works_.retire(completions_);
    if (!pumped) {
      // RFC 5040 section 7.1 rule 3: the region of a Read Request has ended since it was accepted.
      const Bytes request = responder_.front().ulpdu;
      return end_with(pumped.error(), RefusedUlpdu::of(request, request.size()));
    }
  }
  if (state_ == State::closing && (transmitter_.idle() || !may_send())) end_with(*why_, {});
}

// --- the end ---

// Ends with `why`: a Terminate, if it has one and we may send one, and nothing after it.
void Iwarp::end_with(ErrorCode why, const RefusedUlpdu& refused) {
  const TerminateRow* row = terminate_row(why);
  if (row && may_send()) {
    transmitter_.append(TerminateMessage(*row, refused, start_up_.settled().version).ulpdu());
  }
  finish(why, row && !may_send() ? CloseWish::at_once : CloseWish::after_sending);
}

// RFC 5040 section 6.2.1: nothing we could still send is of use to the peer.
void Iwarp::terminated_by_peer(ErrorCode why) {
  muted_ = true;
  finish(why, CloseWish::after_sending);
}

void Iwarp::finish(ErrorCode why, CloseWish wish) {
  if (state_ == State::finishing || state_ == State::ended) return;
  state_ = State::finishing;
  if (!why_) why_ = why;
  wish_ = wish;
  receiver_.discard();
  look_again();
}

// What disconnected() tells: our own reason first, then the transport's, then a peer's graceful end
// if it came between FPDUs and left nothing undone (RFC 5044 section 8, code 1).
ErrorCode Iwarp::final_reason(ErrorCode transport) {
  if (why_) return *why_;
  if (transport) return transport;
  if (state_ == State::starting) return errc::transport_closed;
  const bool complete =
      receiver_.between_fpdus() && requester_.idle() && transmitter_.idle() && output_.empty();
  return complete ? ErrorCode() : make_error_code(errc::transport_closed);
}

void Iwarp::end_turn(Time now) {
  last_now_ = now;
  if (why_ && !close_deadline_) close_deadline_ = now + kCloseTimeout;
  works_.retire(completions_);
  if (completions_.take_news() && client_) client_->completions_ready();
  look_again();
}

}  // namespace

std::unique_ptr<IwarpQueuePair> make_iwarp_queue_pair(MpaRole role, MpaSettings settings, Time now,
                                                      Upgrade upgrade, MpaDecision decision) {
  return std::make_unique<Iwarp>(role, std::move(settings), now, std::move(upgrade),
                                 std::move(decision));
}

}  // namespace openiser::rdmap
