#include "initiator/session.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <fstream>
#include <future>

#include "base/assert.h"
#include "base/log.h"
#include "initiator/isid.h"
#include "initiator/session_thread.h"
#include "rdmap/verbs/verbs.h"

namespace openiser::initiator {
namespace {

struct Address {
  std::string host;
  std::uint16_t port = 0;
};

SessionOptions completed(SessionOptions options) {
  if (options.initiator_name.empty()) options.initiator_name = default_initiator_name();
  if (!options.thread) options.thread = std::make_shared<SessionThread>(options.busy_poll);
  return options;
}

std::vector<Wire> wires_of(const Url& url) {
  if (url.wire != Wire::automatic) return {url.wire};
  return {Wire::rdma_first, Wire::stream_first};
}

// Discovery is plain (RFC 7145 section 6.3), so that is tried first; but a portal that speaks iSER
// alone, such as Linux's target opens, has to be asked over iSER.
std::vector<Wire> discovery_wires_of(const Url& url) {
  if (url.wire == Wire::rdma_first || url.wire == Wire::verbs) return {url.wire};
  if (url.wire == Wire::automatic) return {Wire::plain, Wire::rdma_first};
  return {Wire::plain};
}

void refuse_what_is_missing(const Url& url) {
  if (url.wire == Wire::verbs && !rdmap::verbs_built()) {
    throw SessionError(
        "wire=verbs: this build is without rdma-core, which RDMA cards are used by; use wire=auto");
  }
}

// RFC 7143 section 9.2.1 on secrets.
iscsi::SharedChapSettings chap_settings(const Url& url, const SessionOptions& options) {
  const Secret &own = options.secret, &target = options.target_secret;
  if (url.user.empty()) {
    if (own.empty() && target.empty()) return {};
    throw UsageError("a secret, but no user in '" + url.text() + "'; add user=NAME to the URL");
  }
  if (own.empty())
    throw UsageError("user=" + url.user + ": no secret; name its file with --secret-file");
  const auto weak = [](const Secret& s) {
    return !s.empty() && s.size() < iscsi::kLeastChapSecret;
  };
  if (weak(own) || weak(target))
    throw UsageError("user=" + url.user + ": a CHAP secret has at least " +
                     std::to_string(iscsi::kLeastChapSecret) + " bytes");
  if (iscsi::same_response(own.bytes(), target.bytes()))
    throw UsageError("user=" + url.user +
                     ": the target's secret is the user's own; each needs its own");
  iscsi::ChapSettings settings;
  settings.initiators.push_back({url.user, own});
  if (!target.empty()) settings.target = iscsi::ChapAccount{options.target_user, target};
  return std::make_shared<const iscsi::ChapSettings>(std::move(settings));
}

// tgt reads 7, which is SHA-256, as SHA-1, and has no room for the response: a target that takes a
// response for an error of ours is asked again with the one algorithm that all have. It was in the
// first offer too, so nothing is given away.
iscsi::SharedChapSettings with_md5_alone(const iscsi::ChapSettings& settings) {
  iscsi::ChapSettings changed = settings;
  changed.offer = {iscsi::ChapAlgorithm::md5};
  return std::make_shared<const iscsi::ChapSettings>(std::move(changed));
}

// From target to target; more are taken for a circle.
constexpr unsigned kMostRedirects = 5;

// Where a redirecting target sends us: domainname[:port][,portal-group-tag] (RFC 7143
// section 13.8).
std::optional<Address> address_of(const std::string& target_address) {
  const std::string address = target_address.substr(0, target_address.find(','));
  if (address.empty() || address.front() == ':') return {};
  try {
    const Url portal = parse_portal(address);
    return Address{portal.host, portal.port};
  } catch (const UsageError&) {
    return {};
  }
}

// Whoever asks again is told the same. Redirects that are followed do not come here.
bool is_final(ErrorCode why) {
  return iscsi::is_redirect(why) || why == iscsi::errc::login_authentication_failed ||
         why == iscsi::errc::login_authorization_failed;
}

std::string in_words(const Url& url, const Address& at, Wire wire, ErrorCode why,
                     const std::string& detail) {
  std::string text = std::string(name_of(wire)) + " to " + at.host + ":" + std::to_string(at.port) +
                     ": " + why.message();
  if (!detail.empty()) text += " (" + detail + ")";
  if (why == iscsi::errc::login_authentication_failed)
    text += url.user.empty() ? "; add user=NAME to the URL, and --secret-file"
                             : "; check the user in the URL and the secrets";
  // All that LIO says of a refusal, over TCP without CHAP and mostly over iSER.
  if (why == iscsi::errc::connection_closed && detail == kDuringLogin)
    text += url.user.empty()
                ? "; if the target demands CHAP: add user=NAME to the URL, and --secret-file"
                : "; if that was a refusal: check the user in the URL and the secrets";
  return text;
}

}  // namespace

// What a command goes back to when the session below is done with it.
class Command::Owner {
 public:
  virtual void command_done(Command& command) = 0;

 protected:
  ~Owner() = default;
};

void Command::done() {
  owner_->command_done(*this);
}

// Lives on the loop's thread, but for what is marked.
class Session::State final : public ClientConnection::Events, public Command::Owner {
 public:
  State(Url url, SessionOptions options, bool discovery)
      : url_(std::move(url)),
        options_(completed(std::move(options))),
        discovery_(discovery),
        isid_({options_.initiator_name, url_.target, url_.lun.value_or(0)}),
        chap_(chap_settings(url_, options_)) {
    wires_ = discovery ? discovery_wires_of(url_) : wires_of(url_);
  }

  ~State() {
    loop_.post([this] { close(); });
    closed_.get_future().wait();
  }

  // Any thread; returns when logged in, throws when every wire has failed.
  void open() {
    auto opened = opened_.get_future();
    loop_.post([this] { connect(); });
    const std::string failure = opened.get();
    if (!failure.empty()) throw SessionError(failure);
  }

  // Any thread.
  void submit(Command& command) {
    command.owner_ = this;
    if (loop_.on_this_thread()) return start(command);
    loop_.post([this, &command] { start(command); });
  }

  // Any thread.
  void post(std::function<void()> call) { loop_.post(std::move(call)); }

  // Any thread but the loop's: `call` with the session, or null when there is none now.
  void with_session(std::function<void(iscsi::InitiatorSession*)> call) {
    loop_.post([this, call = std::move(call)] {
      call(session_);
      if (session_) session_->flush();
    });
  }

  // Any thread but the loop's.
  ConnectionInfo info() {
    std::promise<ConnectionInfo> answer;
    loop_.post([&] {
      if (connection_) info_ = connection_->info();
      answer.set_value(info_);
    });
    return answer.get_future().get();
  }
  const Url& url() const { return url_; }
  const rdmap::EventLoop& loop() const { return loop_; }

 private:
  // --- connecting ---

  void connect() {
    if (closing_) return;
    ConnectSettings settings;
    settings.url = url_;
    settings.url.host = here_.host;
    settings.url.port = here_.port;
    settings.url.wire = wires_[wire_];
    settings.discovery = discovery_;
    settings.initiator_name = options_.initiator_name;
    settings.isid = isid_.value();
    settings.chap = chap_;
    settings.connect_timeout = options_.connect_timeout;
    settings.login_timeout = settings.detection_timeout = options_.login_timeout;
    // A target that does not know the wire may just stay silent: do not wait for it as long as for
    // a login.
    if (wire_ + 1 < wires_.size()) {
      settings.detection_timeout =
          std::min<Duration>(options_.login_timeout, std::chrono::seconds(3));
    }
    settings.limits = options_.limits;
    old_connection_.reset();
    connection_ = std::make_unique<ClientConnection>(loop_, options_.thread->pool(),
                                                     std::move(settings), *this);
  }

  void logged_in(iscsi::InitiatorSession& session) override {
    session_ = &session;
    info_ = connection_->info();
    wires_ = {wires_[wire_]};  // what worked once is what recovery uses
    wire_ = 0;
    if (std::exchange(was_up_, true)) event("the connection is back");
    recover_until_.reset();
    redirects_ = 0;
    tell_opened("");
    auto waiting = std::exchange(waiting_, {});
    for (Command* command : waiting) start(*command);
  }

  void connection_ended(ErrorCode why, const std::string& detail) override {
    session_ = nullptr;
    old_connection_ = std::move(connection_);
    if (!closing_ && why == iscsi::errc::login_initiator_error && chap_ &&
        chap_->offer.size() > 1) {
      chap_ = with_md5_alone(*chap_);
      return loop_.defer([this] { connect(); });
    }
    if (!closing_ && iscsi::is_redirect(why) && follow(detail, why == iscsi::errc::login_moved))
      return loop_.defer([this] { connect(); });
    std::string words = in_words(url_, here_, wires_[wire_], why, detail);
    if (redirects_ > kMostRedirects)
      words += ", the last of " + std::to_string(redirects_) + " in a row";
    here_ = home_;
    redirects_ = 0;
    if (!was_up_) failures_ += (failures_.empty() ? "" : "; ") + words;
    if (closing_) return finish();
    if (!was_up_ && !is_final(why) && wire_ + 1 < wires_.size()) {
      ++wire_;
      return loop_.defer([this] { connect(); });
    }
    if (!was_up_) return tell_opened(failures_);
    recover(why, words);
  }

  // RFC 7143 section 11.13.5: a temporary move is for this login alone.
  bool follow(const std::string& target_address, bool permanent) {
    const auto next = address_of(target_address);
    if (!next || ++redirects_ > kMostRedirects) return false;
    log::info("session", "redirected from " + here_.host + ":" + std::to_string(here_.port) +
                             " to " + target_address);
    here_ = *next;
    if (permanent) home_ = here_;
    return true;
  }

  void recover(ErrorCode why, const std::string& words) {
    const Time now = loop_.now();
    if (!recover_until_) {
      event("the connection is lost: " + words);
      recover_until_ = now + options_.recovery_timeout;
      pause_ = std::chrono::milliseconds(50);
    }
    if (is_final(why)) event("given up: " + words);
    if (is_final(why) || now >= *recover_until_) {
      given_up_ = why ? why : ErrorCode(iscsi::errc::connection_closed);
      fail_waiting();
      return;
    }
    if (!retry_) retry_.emplace(loop_, [this] { connect(); });
    retry_->set(now + pause_);
    pause_ = std::min<Duration>(pause_ * 2, std::chrono::seconds(2));
  }

  void fail_waiting() {
    auto waiting = std::exchange(waiting_, {});
    for (Command* command : waiting) {
      command->error = given_up_;
      command->on_done(*command);
    }
  }

  void tell_opened(const std::string& failure) {
    if (!std::exchange(told_, true)) opened_.set_value(failure);
  }

  void event(const std::string& what) {
    if (options_.on_event) options_.on_event(what);
  }

  // --- commands ---

  void start(Command& command) {
    if (session_) {
      command.error = {};
      session_->submit(command);
      if (!session_->in_turn() && !std::exchange(flush_due_, true))
        loop_.defer([this] { flush(); });
      return;
    }
    if (given_up_ || closing_) {
      command.error = given_up_ ? given_up_ : ErrorCode(iscsi::errc::not_logged_in);
      command.on_done(command);
      return;
    }
    waiting_.push_back(&command);
  }

  void flush() {
    flush_due_ = false;
    if (session_) session_->flush();
  }

  void command_done(Command& command) override {
    const bool repeatable = command.error && command.error != iscsi::errc::task_aborted;
    if (!repeatable || closing_ || options_.recovery_timeout == Duration::zero()) {
      command.on_done(command);
      return;
    }
    failed_.push_back(&command);
    if (failed_.size() == 1) loop_.defer([this] { sort_failed(); });
  }

  // Whether the connection went down with them, or the commands failed alone, shows at the end of
  // the turn. A session that takes no more commands is about to end.
  void sort_failed() {
    auto failed = std::exchange(failed_, {});
    for (Command* command : failed) {
      const bool alone = session_ && command->error != iscsi::errc::not_logged_in;
      if (alone || closing_ || given_up_) {
        command->on_done(*command);
      } else {
        waiting_.push_back(command);
      }
    }
  }

  // --- the end ---

  void close() {
    closing_ = true;
    given_up_ = iscsi::errc::terminated;
    retry_.reset();
    fail_waiting();
    if (session_) return session_->logout();
    if (connection_) return connection_->cancel();
    finish();
  }

  // The loop's objects die on the loop's thread, and not from inside a call of theirs. What has
  // been deferred meanwhile comes first.
  void finish() {
    loop_.defer([this] {
      connection_.reset();
      old_connection_.reset();
      loop_.defer([this] { closed_.set_value(); });
    });
  }

  const Url url_;
  SessionOptions options_;
  const bool discovery_;
  const HeldIsid isid_;
  iscsi::SharedChapSettings chap_;

  rdmap::EventLoop& loop_ = options_.thread->loop();
  std::promise<std::string> opened_;
  bool told_ = false;
  std::promise<void> closed_;

  // Where the login goes now, and where the next one begins.
  Address home_{url_.host, url_.port};
  Address here_ = home_;
  unsigned redirects_ = 0;
  std::vector<Wire> wires_;
  std::size_t wire_ = 0;
  std::string failures_;
  std::unique_ptr<ClientConnection> connection_, old_connection_;
  iscsi::InitiatorSession* session_ = nullptr;
  bool was_up_ = false;
  bool closing_ = false;
  bool flush_due_ = false;
  std::optional<Time> recover_until_;
  Duration pause_{};
  std::optional<rdmap::Timer> retry_;
  ErrorCode given_up_;
  std::deque<Command*> waiting_;  // for the next login
  std::vector<Command*> failed_;  // in this turn

  ConnectionInfo info_;
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

std::shared_ptr<Session> Session::open(const Url& url, SessionOptions options) {
  if (url.target.empty()) throw UsageError("URL '" + url.text() + "' names no target");
  refuse_what_is_missing(url);
  auto state = std::make_unique<State>(url, std::move(options), false);
  state->open();
  return std::shared_ptr<Session>(new Session(std::move(state)));
}

std::vector<iscsi::TargetRecord> Session::discover(const Url& portal, SessionOptions options) {
  refuse_what_is_missing(portal);
  State state(portal, std::move(options), true);
  state.open();
  std::promise<std::pair<ErrorCode, std::vector<iscsi::TargetRecord>>> answered;
  state.with_session([&](iscsi::InitiatorSession* session) {
    if (!session) return answered.set_value({iscsi::errc::not_logged_in, {}});
    session->send_targets("All", [&](ErrorCode error, std::vector<iscsi::TargetRecord> records) {
      answered.set_value({error, std::move(records)});
    });
  });
  auto [error, records] = answered.get_future().get();
  if (error) throw SessionError("discovery at " + portal.host + ": " + error.message());
  return records;
}

ConnectionInfo Session::info() const {
  return state_->info();
}
const Url& Session::url() const {
  return state_->url();
}

void Session::submit(Command& command) {
  state_->submit(command);
}

void Session::post(std::function<void()> call) {
  state_->post(std::move(call));
}

void Session::execute(Command& command) {
  ISER_ASSERT(!state_->loop().on_this_thread());
  std::promise<void> finished;
  command.on_done = [&](Command&) { finished.set_value(); };
  submit(command);
  finished.get_future().get();
}

Echo Session::ping(Bytes data) {
  std::promise<std::pair<ErrorCode, Echo>> answered;
  const Time start = state_->loop().now();
  state_->with_session([&](iscsi::InitiatorSession* session) {
    if (!session) return answered.set_value({iscsi::errc::not_logged_in, {}});
    session->ping(data, [&](ErrorCode error, Bytes echo) {
      if (!error && !std::ranges::equal(echo, data.first(std::min(echo.size(), data.size()))))
        error = iscsi::errc::protocol_error;
      answered.set_value({error, {state_->loop().now() - start, echo.size()}});
    });
  });
  const auto [error, echo] = answered.get_future().get();
  if (error) throw SessionError("ping " + url().host + ": " + error.message());
  return echo;
}

iscsi::TaskManagementAnswer Session::manage(iscsi::TaskManagementFunction function,
                                            const iscsi::Lun& lun) {
  std::promise<std::pair<ErrorCode, iscsi::TaskManagementAnswer>> answered;
  state_->with_session([&](iscsi::InitiatorSession* session) {
    if (!session) return answered.set_value({iscsi::errc::not_logged_in, {}});
    session->manage(function, lun, [&](ErrorCode error, iscsi::TaskManagementAnswer answer) {
      answered.set_value({error, answer});
    });
  });
  const auto [error, answer] = answered.get_future().get();
  if (error) throw SessionError("task management at " + url().host + ": " + error.message());
  return answer;
}

std::string default_initiator_name() {
  std::ifstream file("/etc/iscsi/initiatorname.iscsi");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "InitiatorName=";
    if (line.starts_with(kKey) && line.size() > kKey.size()) return line.substr(kKey.size());
  }
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  std::string name = "iqn.2026-11.io.open-iser:";
  for (const char* c = host; *c; ++c) {
    const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    name += std::isalnum(static_cast<unsigned char>(lower)) || lower == '.' || lower == '-' ? lower
                                                                                            : '-';
  }
  return name;
}

}  // namespace openiser::initiator
