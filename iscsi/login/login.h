// The login phase of both roles (RFC 7143 sections 6 and 11.12, RFC 7145 section 5.1) as sans-I/O
// machines: PDUs and the time in, steps out. A machine lives for one login and dies at its end. The
// machines do not know how PDUs travel: a LoginChannel does (byte stream, or Sends of a queue
// pair).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "iscsi/errors.h"
#include "iscsi/login/chap.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

// How login PDUs travel. Received PDUs go to the owner of the channel, who hands them to the
// machine.
class LoginChannel {
 public:
  virtual ~LoginChannel() = default;
  virtual void send(ControlPdu pdu) = 0;
};

// What the machine wants done now. PDUs are sent in order; more than one only where a text spans
// several and the other side need not answer in between (it never does for login: then there is one
// at most).
struct LoginStep {
  enum class Outcome : std::uint8_t {
    going_on,   // wait for the next PDU or the deadline
    authorize,  // target: the negotiation is over; call grant() or refuse()
    // Success. The PDU in `send` of a target is the final Login Response: with RDMAExtensions the
    // datamover sends it (Enable_Datamover), else it is sent as it is. An initiator has nothing
    // left to send.
    succeeded,
    failed,  // send what there is to send, then close; `error` says why
  };
  Outcome outcome = Outcome::going_on;
  std::optional<ControlPdu> send;
  ErrorCode error;
  // In words: the key or field at fault, both values; empty if there is nothing to add to the
  // error.
  std::string detail;
};

// --- target ---

// Who may log in to what. Called during the login on the connection's thread; quick.
class LoginAuthority {
 public:
  struct Request {
    SessionType session_type;
    std::string_view initiator_name;
    std::string_view target_name;  // empty for discovery
    // Which session is meant (RFC 7143 section 6.3.1): tsih is 0 for a new one.
    Isid isid{};
    std::uint16_t tsih = 0;
    std::uint16_t cid = 0;
  };
  // To another address (RFC 7143 section 11.13.5, status class 1).
  struct Redirection {
    std::string address;  // TargetAddress without group tag: "192.0.2.9:3260"
    bool permanent = false;
    bool after_authentication = false;  // at the end of the login, else at its beginning

    friend bool operator==(const Redirection&, const Redirection&) = default;
  };
  struct Verdict {
    ErrorCode error;  // such as login_target_not_found; none: go on
    std::string target_alias;
    std::uint16_t target_portal_group_tag = 1;
    // How the initiator has to prove who it is, before anything else is done for it; null: it need
    // not, AuthMethod=None.
    SharedChapSettings chap{};
    std::optional<Redirection> redirection{};
  };
  virtual Verdict identify(const Request& request) = 0;

 protected:
  ~LoginAuthority() = default;
};

class TargetLogin {
 public:
  // `rdma_connection`: the connection came up in RDMA mode (rdma-first), where RDMAExtensions must
  // end as Yes.
  TargetLogin(Preferences preferences, LoginAuthority& authority, bool rdma_connection, Time now);
  ~TargetLogin();
  TargetLogin(TargetLogin&&) noexcept;

  LoginStep receive(const ControlPdu& pdu, Time now);
  // After `authorize`: the session exists, with this TSIH and this portal group.
  // `max_cmd_sn_ahead`: command window size.
  LoginStep grant(std::uint16_t tsih, std::uint32_t command_window);
  LoginStep refuse(ErrorCode error);
  LoginStep expired(Time now);
  std::optional<Time> deadline() const;

  // From `authorize` on complete; before that what is known so far.
  const Parameters& parameters() const;
  // The request's TSIH: 0 for a new session (or the reinstatement of one with the same ISID).
  std::uint16_t requested_tsih() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

// --- initiator ---

struct InitiatorIdentity {
  std::string initiator_name;
  std::string initiator_alias;
  Isid isid{};
  std::string target_name;  // empty: a discovery session
  std::uint16_t tsih = 0;
  std::uint16_t cid = 0;
  // How to prove who it is, and whether the target has to; null: AuthMethod=None.
  SharedChapSettings chap{};
};

class InitiatorLogin {
 public:
  // `rdma_connection`: as above; then no digests are offered and a No to RDMAExtensions fails.
  InitiatorLogin(InitiatorIdentity identity, Preferences preferences, bool rdma_connection,
                 Time now);
  ~InitiatorLogin();
  InitiatorLogin(InitiatorLogin&&) noexcept;

  // The first Login Request.
  LoginStep start(Time now);
  LoginStep receive(const ControlPdu& pdu, Time now);
  LoginStep expired(Time now);
  std::optional<Time> deadline() const;

  const Parameters& parameters() const;
  // With login_redirected and login_moved: the TargetAddress given.
  const std::string& redirect_address() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace openiser::iscsi
