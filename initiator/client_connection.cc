#include "initiator/client_connection.h"

#include "base/assert.h"
#include "iscsi/errors.h"
#include "iscsi/login/stream_login_channel.h"
#include "iscsi/recorder.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "iser/iser_endpoint.h"
#include "rdmap/errors.h"
#include "rdmap/iwarp.h"
#include "rdmap/tcp/queue_pair_driver.h"
#include "rdmap/verbs/verbs.h"

namespace openiser::initiator {
namespace {

// The login travels over the queue pair.
bool logs_in_over_rdma(Wire wire) {
  return wire == Wire::rdma_first || wire == Wire::verbs;
}

std::vector<std::byte> private_data() {
  return iser::encode(
      iser::CmHeader{.zero_based_not_supported = true, .send_invalidate_not_supported = false});
}

iscsi::Preferences preferences_of(const ConnectSettings& settings) {
  iscsi::Preferences wanted;
  wanted.header_digest_crc32c = wanted.data_digest_crc32c = false;
  if (settings.url.wire == Wire::plain) {
    wanted.header_digest_crc32c = settings.url.header_digest;
    wanted.header_digest_none = !settings.url.header_digest;
    wanted.data_digest_crc32c = settings.url.data_digest;
    wanted.data_digest_none = !settings.url.data_digest;
  } else {
    wanted.rdma_extensions = true;
    wanted.rdma_required = true;
    wanted.rfc7145 = !settings.url.rfc5046;
  }
  wanted.login_timeout =
      logs_in_over_rdma(settings.url.wire) ? settings.login_timeout : settings.detection_timeout;
  return wanted;
}

rdmap::MpaSettings mpa_settings_of(const ConnectSettings& settings, std::uint32_t emss) {
  rdmap::MpaSettings mpa;
  mpa.crc = settings.url.crc;
  mpa.markers = settings.url.markers;
  mpa.emss = emss;
  mpa.start_up_timeout =
      settings.url.wire == Wire::rdma_first ? settings.detection_timeout : settings.login_timeout;
  // RFC 5046 knows no base offsets: every advertised buffer starts at Tagged Offset 0.
  mpa.zero_based_offsets = settings.url.rfc5046;
  return mpa;
}

rdmap::VerbsSettings verbs_settings_of(const ConnectSettings& settings) {
  rdmap::VerbsSettings verbs;
  verbs.private_data = private_data();
  verbs.resolve_timeout = settings.connect_timeout;
  verbs.set_up_timeout = settings.detection_timeout;
  return verbs;
}

iser::Settings iser_settings_of(const ConnectSettings& settings) {
  iser::Settings wanted;
  wanted.role = iser::Role::initiator;
  wanted.dialect = settings.url.rfc5046 ? iser::Dialect::rfc5046 : iser::Dialect::rfc7145;
  wanted.send_solicited_events = settings.url.rfc5046;
  // LIO, tgt and SCST read from the base as if it meant the solicited part, and never see a key
  // that says otherwise.
  if (logs_in_over_rdma(settings.url.wire)) wanted.base_offset = iser::BaseOffset::solicited_part;
  return wanted;
}

}  // namespace

class ClientConnection::State final : public iscsi::StreamLoginChannel::Client,
                                      public iser::IserConnection::LoginClient,
                                      public iscsi::InitiatorSessionHost {
 public:
  State(rdmap::EventLoop& loop, BufferPool& pool, ConnectSettings settings, Events& events)
      : loop_(loop), pool_(pool), settings_(std::move(settings)), events_(events) {
    info_.wire = settings_.url.wire;
    if (info_.wire == Wire::verbs) {
      connect_by_verbs();
    } else {
      connect_.emplace(loop_, settings_.url.host, settings_.url.port, settings_.connect_timeout,
                       [this](Result<rdmap::Socket> socket) { connected(std::move(socket)); });
    }
  }

  ConnectionInfo info() const {
    ConnectionInfo now = info_;
    if (iser_) now.rdma = iser_->negotiated();
    return now;
  }

  void cancel() {
    connect_.reset();
    verbs_connect_.reset();
    fail(iscsi::errc::terminated, "");
  }

 private:
  // --- set-up ---

  void connected(Result<rdmap::Socket> socket) {
    if (!socket) return fail(socket.error(), "");
    info_.local_address = socket->local_address();
    info_.peer_address = socket->peer_address();
    emss_ = socket->emss();
    driver_.emplace(loop_, std::move(*socket), [this](ErrorCode why) { transport_closed(why); });
    if (info_.wire == Wire::rdma_first) return start_rdma_first();
    stream_ = std::make_unique<iscsi::StreamLoginChannel>(*this);
    driver_->drive(*stream_);
    start_login(*stream_, false);
  }

  void start_rdma_first() {
    rdmap::MpaSettings mpa = mpa_settings_of(settings_, emss_);
    mpa.private_data = private_data();
    auto queue_pair = rdmap::make_iwarp_queue_pair(rdmap::MpaRole::initiator, mpa, loop_.now());
    make_iser(std::move(queue_pair), this);
    driver_->drive(*iser_endpoint_);
  }

  void connect_by_verbs() {
    using QueuePair = std::unique_ptr<rdmap::VerbsQueuePair>;
    verbs_connect_.emplace(
        loop_, pool_, settings_.url.host, settings_.url.port, verbs_settings_of(settings_),
        [this](Result<QueuePair> queue_pair) { start_verbs(std::move(queue_pair)); });
  }

  // A card sets up the connection by itself, once this has returned.
  void start_verbs(Result<std::unique_ptr<rdmap::VerbsQueuePair>> queue_pair) {
    if (!queue_pair) return fail(queue_pair.error(), "");
    info_.local_address = (*queue_pair)->local_address();
    info_.peer_address = (*queue_pair)->peer_address();
    iser_ = iser::IserConnection::create(std::move(*queue_pair), iser_settings_of(settings_), pool_,
                                         this);
    verbs_driver_.emplace(loop_, iser_->queue_pair(), *iser_,
                          [this](ErrorCode why) { transport_closed(why); });
  }

  void make_iser(std::unique_ptr<rdmap::IwarpQueuePair> queue_pair, LoginClient* login) {
    StreamEndpoint& stream = *queue_pair;
    iser_ = iser::IserConnection::create(std::move(queue_pair), iser_settings_of(settings_), pool_,
                                         login);
    iser_endpoint_.emplace(stream, *iser_);
  }

  void start_login(iscsi::LoginChannel& channel, bool rdma_connection) {
    channel_ = &channel;
    iscsi::InitiatorIdentity who;
    who.initiator_name = settings_.initiator_name;
    who.isid = settings_.isid;
    who.chap = settings_.chap;
    if (!settings_.discovery) who.target_name = settings_.url.target;
    login_.emplace(std::move(who), preferences_of(settings_), rdma_connection, loop_.now());
    apply(login_->start(loop_.now()));
  }

  void apply(iscsi::LoginStep step) {
    if (step.send) channel_->send(std::move(*step.send));
    switch (step.outcome) {
      case iscsi::LoginStep::Outcome::going_on:
        login_timer_.set(login_->deadline());
        return;
      case iscsi::LoginStep::Outcome::succeeded:
        login_timer_.set({});
        if (iser_) return log_in_done();
        // The change of mode replaces the endpoint whose call this may be.
        loop_.defer([this, alive = std::weak_ptr<int>(alive_)] {
          if (!alive.expired() && !ended_) log_in_done();
        });
        return;
      case iscsi::LoginStep::Outcome::authorize:  // a target's outcome
      case iscsi::LoginStep::Outcome::failed:
        break;
    }
    std::string detail = step.detail;
    if (iscsi::is_redirect(step.error)) detail = login_->redirect_address();
    fail(step.error, detail);
  }

  void log_in_done() {
    info_.parameters = login_->parameters();
    if (iser_) {
      enable_iser();
    } else if (info_.parameters.rdma_extensions) {
      switch_to_rdma();
    } else {
      switch_to_plain();
    }
    if (ended_) return;
    events_.logged_in(*session_);
  }

  void switch_to_plain() {
    tcp_ = iscsi::make_tcp_datamover(iscsi::Role::initiator, info_.parameters, pool_,
                                     stream_->take_unsent(), stream_->take_unread());
    start_session(*tcp_);
    driver_->drive(*tcp_);
  }

  // Stream-first: MPA starts right behind the final Login Response (RFC 5046 section 5.1.2).
  void switch_to_rdma() {
    rdmap::Upgrade upgrade{stream_->take_unsent(), stream_->take_unread()};
    auto queue_pair =
        rdmap::make_iwarp_queue_pair(rdmap::MpaRole::initiator, mpa_settings_of(settings_, emss_),
                                     loop_.now(), std::move(upgrade));
    make_iser(std::move(queue_pair), nullptr);
    if (enable_iser()) driver_->drive(*iser_endpoint_);
  }

  bool enable_iser() {
    if (const Status got = iser_->allocate_connection_resources(info_.parameters); !got) {
      fail(got.error(), "no memory for the connection's receive buffers");
      return false;
    }
    start_session(*iser_);
    iser_->enable_datamover(*recorder_);
    return true;
  }

  // Afterwards the datamover's client is recorder_.
  void start_session(iscsi::Datamover& datamover) {
    recorder_.emplace(datamover, loop_);
    session_ =
        iscsi::InitiatorSession::create(info_.parameters, *recorder_, *this, settings_.limits);
    arm_session();
  }

  // --- what the parts say ---

  void login_pdu(iscsi::ControlPdu pdu) override {
    if (login_ && !ended_) apply(login_->receive(pdu, loop_.now()));
  }
  void login_stream_failed(ErrorCode why) override { fail(why, kDuringLogin); }
  void login_connection_failed(ErrorCode why) override {
    fail(why, login_ ? kDuringLogin : "while setting up RDMA");
  }
  void queue_pair_established(const rdmap::Established&) override { start_login(*iser_, true); }

  void session_ended(ErrorCode why) override {
    recorder_->log_events("connection to " + info_.peer_address,
                          iscsi::is_fault(why) || rdmap::terminate_row(why) != nullptr);
    report(why, "");
  }
  Time now() const override { return loop_.now(); }
  void deadline_changed() override { arm_session(); }

  void transport_closed(ErrorCode why) {
    if (!session_) fail(why ? why : ErrorCode(iscsi::errc::connection_closed), kDuringLogin);
  }

  // --- the end ---

  void fail(ErrorCode why, const std::string& detail) {
    login_timer_.set({});
    report(why, detail);
  }

  void report(ErrorCode why, const std::string& detail) {
    if (std::exchange(ended_, true)) return;
    events_.connection_ended(why, detail);
  }

  void arm_session() {
    if (session_) session_timer_.set(session_->deadline());
  }

  rdmap::EventLoop& loop_;
  BufferPool& pool_;
  const ConnectSettings settings_;
  Events& events_;
  ConnectionInfo info_;
  std::uint32_t emss_ = 1460;
  bool ended_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();

  std::optional<rdmap::Connect> connect_;
  std::optional<rdmap::VerbsConnect> verbs_connect_;
  std::optional<iscsi::InitiatorLogin> login_;
  iscsi::LoginChannel* channel_ = nullptr;
  std::unique_ptr<iscsi::StreamLoginChannel> stream_;
  std::unique_ptr<iscsi::TcpDatamover> tcp_;
  std::unique_ptr<iser::IserConnection> iser_;
  std::optional<iser::IserEndpoint> iser_endpoint_;
  std::optional<iscsi::Recorder> recorder_;
  std::unique_ptr<iscsi::InitiatorSession> session_;
  // The driver, one of the two, goes first: it may hold pieces of what the endpoints are sending.
  std::optional<rdmap::TcpDriver> driver_;
  std::optional<rdmap::QueuePairDriver<iser::IserConnection>> verbs_driver_;
  rdmap::Timer login_timer_{loop_, [this] {
                              if (login_ && !ended_) apply(login_->expired(loop_.now()));
                            }};
  rdmap::Timer session_timer_{loop_, [this] {
                                session_->expired(loop_.now());
                                arm_session();
                              }};
};

ClientConnection::ClientConnection(rdmap::EventLoop& loop, BufferPool& pool,
                                   ConnectSettings settings, Events& events)
    : state_(std::make_unique<State>(loop, pool, std::move(settings), events)) {}
ClientConnection::~ClientConnection() = default;
ConnectionInfo ClientConnection::info() const {
  return state_->info();
}
void ClientConnection::cancel() {
  state_->cancel();
}

}  // namespace openiser::initiator
