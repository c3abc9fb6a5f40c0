// Anything a peer may send in the messages of an iSER connection, login over the queue pair
// included, to a target or an initiator with its session.
//
// Input: two bytes of flags, then records: what the peer does (Deed) and the bytes for it. STags of
// the initiator's tasks and of the peer's memory: see fixed_random.cc.
#include <memory>
#include <optional>

#include "iscsi/login/login.h"
#include "iser/iser_datamover.h"
#include "tests/fuzz/initiator_end.h"
#include "tests/fuzz/iser_peer.h"
#include "tests/fuzz/target_end.h"

namespace openiser {
namespace {

using iser::IserConnection;

// Of the first byte.
enum Flags : std::uint8_t {
  target = 1,
  rfc5046 = 2,
  logs_in = 4,
  hello_yes = 8,
  hello_no = 16,
  few_unexpected = 32,
  solicited_only = 64,
  no_invalidate = 128,
};
// Of the second.
enum MoreFlags : std::uint8_t {
  initial_r2t = 1,
  no_immediate_data = 2,
  few_reads = 4,
  large_offsets = 8,
  solicited_part = 16,
  is_discovery = 32,
};

enum class Deed : std::uint8_t {
  send,
  send_invalidate,
  write,
  read,
  act,  // of the connection's own session
  wait,
  revoke,
  disconnect,
};
constexpr std::uint8_t kHoldBack = 0x80;  // nothing moves until the next deed
constexpr std::uint8_t kBarely = 0x40;    // only a little does
constexpr std::size_t kFewSteps = 3;

iscsi::Parameters parameters_of(std::uint8_t flags, std::uint8_t more) {
  using HelloRequired = iscsi::Parameters::HelloRequired;
  iscsi::Parameters p;
  p.tsih = 1;
  p.rdma_extensions = true;
  p.initial_r2t = (more & initial_r2t) != 0;
  p.immediate_data = (more & no_immediate_data) == 0;
  p.max_cmd_sn = 16;
  if ((more & is_discovery) != 0) p.session_type = iscsi::SessionType::discovery;
  if ((more & few_reads) != 0) {
    p.max_outstanding_r2t = 8;
    p.max_burst_length = 4096;
  }
  p.first_burst_length = std::min<std::uint32_t>(p.max_burst_length, 16384);
  if ((flags & few_unexpected) != 0)
    p.own_max_outstanding_unexpected_pdus = p.peer_max_outstanding_unexpected_pdus = 2;
  p.tagged_buffer_for_solicited_data_only = (flags & solicited_only) != 0;
  if ((flags & hello_yes) != 0) p.iser_hello_required = HelloRequired::yes;
  if ((flags & hello_no) != 0) p.iser_hello_required = HelloRequired::no;
  p.peer_knows_rfc7145 = (flags & rfc5046) == 0;
  return p;
}

iser::Settings settings_of(std::uint8_t flags, std::uint8_t more) {
  iser::Settings settings;
  settings.role = (flags & target) != 0 ? iser::Role::target : iser::Role::initiator;
  settings.dialect = (flags & rfc5046) != 0 ? iser::Dialect::rfc5046 : iser::Dialect::rfc7145;
  settings.command_window = 16;
  settings.send_with_invalidate = (flags & no_invalidate) == 0;
  if ((more & solicited_part) != 0) settings.base_offset = iser::BaseOffset::solicited_part;
  return settings;
}

rdmap::LoopbackSettings link_settings_of(std::uint8_t more) {
  rdmap::LoopbackSettings settings;
  if ((more & few_reads) != 0) settings.outbound_reads = settings.inbound_reads = 1;
  settings.zero_based_offsets = (more & large_offsets) == 0;
  return settings;
}

// The connection, its login if it has one, and its session.
class Subject final : IserConnection::LoginClient, iscsi::LoginAuthority {
 public:
  Subject(std::unique_ptr<rdmap::QueuePair> queue_pair, std::uint8_t flags, std::uint8_t more,
          BufferPool& pool)
      : is_target_((flags & target) != 0),
        connection_(IserConnection::create(std::move(queue_pair), settings_of(flags, more), pool,
                                           (flags & logs_in) != 0 ? this : nullptr)) {
    if ((flags & logs_in) == 0) {
      start_session(parameters_of(flags, more), {});
      return;
    }
    iscsi::Preferences wanted;
    wanted.rdma_extensions = wanted.rdma_required = true;
    wanted.rfc7145 = (flags & rfc5046) == 0;
    if (is_target_) {
      target_login_.emplace(wanted, static_cast<iscsi::LoginAuthority&>(*this), true, fuzz::kStart);
    } else {
      iscsi::InitiatorIdentity identity;
      identity.initiator_name = "iqn.2026-11.org.example:i";
      identity.target_name = "iqn.2026-11.org.example:x";
      initiator_login_.emplace(identity, wanted, true, fuzz::kStart);
    }
  }

  // True when it did something that was due.
  bool settle() {
    if (log_in_later_) finish_login();
    const auto deadline = connection_->deadline();
    const bool due = deadline && *deadline <= now_ && last_expired_ != deadline;
    last_expired_ = deadline;
    if (due) connection_->expired(now_);
    if (target_end_) target_end_->turn();
    if (initiator_end_) initiator_end_->flush();
    connection_->flush();
    return due;
  }
  void act(std::uint8_t what) {
    if (target_end_) target_end_->act(what);
    if (initiator_end_) initiator_end_->act(what);
  }
  void wait(std::uint8_t seconds) {
    now_ += std::chrono::seconds(seconds);
    last_expired_.reset();
    if (target_end_) target_end_->pass_time(std::chrono::seconds(seconds));
  }
  void end() { connection_->queue_pair().disconnect(iscsi::errc::connection_closed); }
  bool ended() const {
    if (target_end_) return target_end_->ended();
    if (initiator_end_) return initiator_end_->ended();
    return login_failed_ || refused_;
  }

  void queue_pair_established(const rdmap::Established&) override {
    if (initiator_login_) take(initiator_login_->start(now_));
  }
  void login_pdu(iscsi::ControlPdu pdu) override {
    if (log_in_later_ || login_over_) return;
    take(initiator_login_ ? initiator_login_->receive(pdu, now_)
                          : target_login_->receive(pdu, now_));
  }
  void login_connection_failed(ErrorCode) override {
    fuzz::require(!login_failed_);
    login_failed_ = true;
  }
  Verdict identify(const Request&) override { return {}; }

 private:
  void take(iscsi::LoginStep step) {
    using Outcome = iscsi::LoginStep::Outcome;
    if (step.outcome == Outcome::authorize || step.outcome == Outcome::succeeded) {
      log_in_later_ = true;
    } else if (step.send) {
      connection_->send(std::move(*step.send));
    }
    if (step.outcome != Outcome::failed) return;
    login_over_ = true;
    connection_->queue_pair().disconnect();
  }
  // As the owners of connections do it: not from inside the connection's call.
  void finish_login() {
    log_in_later_ = false;
    login_over_ = true;
    if (!target_login_) return start_session(initiator_login_->parameters(), {});
    const iscsi::Parameters parameters = target_login_->parameters();
    start_session(parameters, target_login_->grant(1, 16).send);
  }
  void start_session(const iscsi::Parameters& parameters,
                     std::optional<iscsi::ControlPdu> final_response) {
    refused_ = !connection_->allocate_connection_resources(parameters);
    if (refused_) return connection_->queue_pair().disconnect();
    if (is_target_) {
      target_end_.emplace(parameters, *connection_);
      connection_->enable_datamover(target_end_->session(), std::move(final_response));
    } else {
      initiator_end_.emplace(parameters, *connection_);
      connection_->enable_datamover(initiator_end_->session());
    }
  }

  const bool is_target_;
  Time now_ = fuzz::kStart;
  std::optional<Time> last_expired_;
  std::optional<iscsi::TargetLogin> target_login_;
  std::optional<iscsi::InitiatorLogin> initiator_login_;
  bool log_in_later_ = false;
  bool login_over_ = false;
  bool login_failed_ = false;
  bool refused_ = false;  // no resources: there is no session to tell
  std::unique_ptr<IserConnection> connection_;
  std::optional<fuzz::TargetEnd> target_end_;
  std::optional<fuzz::InitiatorEnd> initiator_end_;
};

void settle(Subject& subject, rdmap::QueuePair& peer, rdmap::LoopbackPair& link) {
  for (int turns = 0; turns < 1000; ++turns) {
    const bool due = subject.settle();
    peer.flush();
    if (link.run() == 0 && !due) return;
  }
}

void perform(Deed deed, Bytes what, Subject& subject, fuzz::IserPeer& peer) {
  switch (deed) {
    case Deed::send:
      return peer.send(ByteReader(what), false);
    case Deed::send_invalidate:
      return peer.send(ByteReader(what), true);
    case Deed::write:
      return peer.write(ByteReader(what));
    case Deed::read:
      return peer.read(ByteReader(what));
    case Deed::act:
      if (!what.empty()) subject.act(load_u8(what.data()));
      return;
    case Deed::wait:
      if (!what.empty()) subject.wait(load_u8(what.data()));
      return;
    case Deed::revoke:
      return peer.revoke();
    case Deed::disconnect:
      return peer.disconnect();
  }
}

void run(ByteReader in) {
  const std::uint8_t flags = in.u8();
  const std::uint8_t more = in.u8();
  const rdmap::LoopbackSettings link_settings = link_settings_of(more);
  rdmap::LoopbackPair link(link_settings, link_settings);
  BufferPool pool(std::size_t{64} << 20);
  const auto peer_end = link.take_second();
  {
    fuzz::IserPeer peer(*peer_end);
    Subject subject(link.take_first(), flags, more, pool);
    link.establish();
    settle(subject, *peer_end, link);
    while (in.remaining() > 0) {
      const std::uint8_t deed = in.u8();
      perform(static_cast<Deed>(deed & 7), fuzz::take_record(in), subject, peer);
      if ((deed & kHoldBack) != 0) continue;
      if ((deed & kBarely) == 0) {
        settle(subject, *peer_end, link);
      } else {
        subject.settle();
        peer_end->flush();
        link.run(kFewSteps);
      }
    }
    settle(subject, *peer_end, link);
    subject.end();
    settle(subject, *peer_end, link);
    fuzz::require(subject.ended());
  }
  fuzz::require(pool.outstanding() == 0);
}

}  // namespace
}  // namespace openiser

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 2) openiser::run(openiser::fuzz::input_of(data, size));
  return 0;
}
