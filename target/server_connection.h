// One accepted connection, from its first byte to its end, on one thread:
//
//   detecting --+-- stream ----- login on the byte stream --+-- plain iSCSI ---------- session
//               |                                           +-- switch to RDMAP ------ session
//               +-- rdma-first - login over the queue pair -------------------------- session
//   verbs --------------------------^
//
// Each step has its own objects, which go when the next one has taken over. server_connection.cc
// has the way up to the end of the login and the end of the connection, hand_over.cc the change
// into full feature phase.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/buffer.h"
#include "config/settings.h"
#include "iscsi/login/login.h"
#include "iscsi/login/stream_login_channel.h"
#include "iscsi/recorder.h"
#include "iscsi/session/target_session.h"
#include "iscsi/tcp_datamover/tcp_datamover.h"
#include "iser/iser_datamover.h"
#include "iser/iser_endpoint.h"
#include "rdmap/iwarp.h"
#include "rdmap/tcp/queue_pair_driver.h"
#include "rdmap/tcp/tcp.h"
#include "rdmap/verbs/verbs.h"
#include "target/catalogue.h"
#include "target/session_manager.h"
#include "target/store/store.h"
#include "target/wire_detector.h"

namespace openiser::target {

// What connections share; outlives them. `loop`, `engine` and `pool` are those of their thread, the
// rest belongs to all threads.
struct ConnectionContext {
  rdmap::EventLoop& loop;
  StoreEngine& engine;
  BufferPool& pool;
  const config::Daemon& config;
  const CurrentCatalogue& catalogue;
  SessionManager& sessions;
};

class ServerConnection final : WireDetector::Client,
                               iscsi::StreamLoginChannel::Client,
                               iser::IserConnection::LoginClient,
                               iscsi::LoginAuthority,
                               SessionManager::Member,
                               iscsi::SessionHost {
 public:
  class Owner {
   public:
    // The connection is over and may be destroyed, not from inside this call. The last call.
    virtual void connection_finished(ServerConnection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  ServerConnection(const ConnectionContext& context, rdmap::Socket socket, Arrival arrival,
                   Owner& owner);
  ServerConnection(const ConnectionContext& context, rdmap::VerbsRequest request, Arrival arrival,
                   Owner& owner);
  // Only after connection_finished().
  ~ServerConnection();

  // Asks the initiator to log out, and ends the connection when it has not within `grace`; one that
  // is still logging in ends at once.
  void drain(Duration grace);
  // Ends it now, and so the session; connection_finished() follows.
  void end(ErrorCode why);

 private:
  enum class Phase : std::uint8_t { detecting, login, waiting, full_feature, closing };

  ServerConnection(const ConnectionContext& context, Arrival arrival, Owner& owner);

  // --- server_connection.cc ---
  void wire_detected(Wire wire) override;
  void wire_unknown(ErrorCode why) override;
  void start_stream();
  void start_rdma_first();
  void start_verbs(rdmap::VerbsRequest request);
  rdmap::MpaAnswer answer_rdma_request(Bytes private_data) const;
  void start_login(iscsi::LoginChannel& channel);

  void login_pdu(iscsi::ControlPdu pdu) override;
  void login_stream_failed(ErrorCode why) override;
  void queue_pair_established(const rdmap::Established& how) override;
  void login_connection_failed(ErrorCode why) override;
  Verdict identify(const Request& request) override;
  void apply(iscsi::LoginStep step);
  void ask_admission();
  void login_failed(ErrorCode why, const std::string& detail);
  void close_login();

  std::vector<iscsi::TargetRecord> send_targets(const std::string& name) override;
  void session_ended(ErrorCode why) override;
  Time now() const override { return context_.loop.now(); }
  void deadline_changed() override { rearm(); }
  void end_session(ErrorCode why) override { end(why); }

  void rearm();
  void timer_expired();
  void transport_closed(ErrorCode why);
  void finish();
  void defer(void (ServerConnection::*call)());
  std::string who() const;

  // --- hand_over.cc ---
  void admitted(std::uint16_t tsih) override;
  bool prepare_nexus();
  void hand_over_plain(std::uint16_t tsih);
  void hand_over_stream_first(std::uint16_t tsih);
  void hand_over_rdma_first(std::uint16_t tsih);
  void make_queue_pair(iser::Dialect dialect, rdmap::Upgrade upgrade, LoginClient* login);
  // Afterwards the datamover's client is recorder_.
  void start_session(iscsi::Datamover& datamover, const char* wire);

  const ConnectionContext context_;
  const Arrival arrival_;
  Owner& owner_;
  std::string initiator_name_;  // from the end of the login on
  const Time accepted_at_;

  Phase phase_ = Phase::detecting;
  Wire wire_ = Wire::stream;
  SessionManager::Ticket ticket_;
  rdmap::Timer timer_;
  // Set once the session has ended but the transport has not: how long to wait for it.
  std::optional<Time> give_up_at_;
  bool transport_gone_ = false;
  bool finished_ = false;

  // From here on in the order of dependence: what comes later refers to what comes before, and goes
  // first.
  std::optional<WireDetector> detector_;
  std::optional<iscsi::TargetLogin> login_;
  iscsi::LoginChannel* channel_ = nullptr;
  std::unique_ptr<iscsi::StreamLoginChannel> stream_;
  std::unique_ptr<iscsi::TaskHandler> nexus_;
  std::unique_ptr<iscsi::TcpDatamover> plain_;
  std::unique_ptr<iser::IserConnection> iser_;
  std::optional<iser::IserEndpoint> iser_endpoint_;
  std::optional<iscsi::Recorder> recorder_;
  std::unique_ptr<iscsi::TargetSession> session_;
  bool session_over_ = false;
  // What carries it: one of the two.
  std::optional<rdmap::TcpDriver> tcp_;
  std::optional<rdmap::QueuePairDriver<iser::IserConnection>> verbs_;

  // Deferred calls look whether the connection is still there.
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace openiser::target
