#include "iser/connection.h"

#include "base/assert.h"
#include "iscsi/errors.h"

namespace openiser::iser {
namespace {

using iscsi::errc;

// An initiator may get unexpected PDUs right behind the final Login Response, before its owner has
// allocated (RFC 7145 section 5.1.3): one receive for the response, three for those.
constexpr std::uint32_t kInitiatorLoginReceives = 4;
// A target gets one Login Request at a time; the next receive is posted with each answer.
constexpr std::uint32_t kTargetLoginReceives = 1;

std::size_t login_receive_size(const Settings& settings) {
  const std::uint32_t own =
      settings.role == Role::initiator ? settings.recv_data_segment_length : 0;
  return receive_size(settings.dialect, std::max(kLoginDataSegment, own));
}

// Mappings a target keeps. The session's window and its immediate commands need fewer.
std::size_t most_tasks(const Settings& settings) {
  return std::size_t{4} * settings.command_window + 64;
}

}  // namespace

std::unique_ptr<IserConnection> IserConnection::create(std::unique_ptr<rdmap::QueuePair> queue_pair,
                                                       Settings settings, BufferPool& pool,
                                                       LoginClient* login) {
  return std::make_unique<Connection>(std::move(queue_pair), settings, pool, login);
}

Connection::FullFeature::FullFeature(const iscsi::Parameters& negotiated, const Settings& settings,
                                     rdmap::QueuePair& queue_pair)
    : parameters(negotiated),
      receives(receive_plan(settings, negotiated)),
      base_offset(negotiated.tagged_buffer_for_solicited_data_only ? BaseOffset::solicited_part
                                                                   : settings.base_offset),
      sent_unexpected(settings.role, negotiated.peer_max_outstanding_unexpected_pdus),
      received_unexpected(settings.role == Role::target ? Role::initiator : Role::target,
                          negotiated.own_max_outstanding_unexpected_pdus),
      initiator_tasks(queue_pair, settings.role == Role::initiator ? settings.command_window : 0),
      target_tasks(negotiated, base_offset,
                   settings.role == Role::target ? most_tasks(settings) : 0) {}

Connection::Connection(std::unique_ptr<rdmap::QueuePair> queue_pair, Settings settings,
                       BufferPool& pool, LoginClient* login)
    : queue_pair_(std::move(queue_pair)),
      settings_(settings),
      pool_(pool),
      login_(login),
      receives_(*queue_pair_, pool),
      transfer_(*queue_pair_),
      invalidate_remotely_(settings.send_with_invalidate) {
  queue_pair_->set_client(this);
  if (!login_) return;
  receives_.set_size(login_receive_size(settings_));
  receives_.provide(is_target() ? kTargetLoginReceives : kInitiatorLoginReceives);
}

Connection::~Connection() {
  queue_pair_->set_client(nullptr);
}

Status Connection::allocate_connection_resources(const iscsi::Parameters& parameters) {
  if (full_) return {};
  // RFC 5046 section 1.4.1: what we advertise has no offset in it.
  const bool offsets_needed = !is_target() && !facts(settings_.dialect).base_offsets;
  if (offsets_needed && !queue_pair_->capabilities().zero_based_offsets)
    return make_error_code(boost::system::errc::not_supported);
  full_.emplace(parameters, settings_, *queue_pair_);
  receives_.set_size(full_->receives.size);
  receives_.provide(full_->receives.count);
  if (receives_.posted() >= full_->receives.count) return {};
  full_.reset();
  return errc::login_out_of_resources;
}

void Connection::enable_datamover(iscsi::DatamoverClient& client,
                                  std::optional<iscsi::ControlPdu> final_login_response) {
  ISER_ASSERT(full_.has_value());
  if (final_login_response && !over()) post_message({}, std::move(*final_login_response), {});
  client_ = &client;
  enabled_ = true;
  if (negotiated_ && !over()) begin();
  end_untold_ = ended_;
  queue_pair_->flush();
  look_at_deadline();
}

void Connection::established(const rdmap::Established& how) {
  negotiated_ = how;
  negotiated_->private_data = {};
  if (!how.capabilities.remote_invalidate) invalidate_remotely_ = false;
  if (login_) {
    // Linux and its kin say in the private data whether they can take it.
    if (is_target() && decode_cm_header(how.private_data).send_invalidate_not_supported)
      invalidate_remotely_ = false;
    login_->queue_pair_established(how);
  }
  if (enabled_ && !full_->hello) begin();
  finish_turn();
}

// Full feature phase starts: the Hello exchange, if there is one.
void Connection::begin() {
  const std::uint32_t reads = is_target() ? negotiated_->capabilities.outbound_reads
                                          : negotiated_->capabilities.inbound_reads;
  full_->hello.emplace(settings_.role, settings_.dialect,
                       hello_rule(settings_.dialect, full_->parameters.iser_hello_required), reads);
  transfer_.set_read_limit(negotiated_->capabilities.outbound_reads);
  if (const auto hello = full_->hello->to_send()) post_announcement(*hello);
  release_held();
}

// A Hello or its reply is due; or, at a target, unexpected PDUs are held back until the initiator
// has shown that it is there (section 5.1.3).
bool Connection::awaiting_first_message() const {
  if (!enabled_ || over() || !full_->hello) return false;
  if (!full_->hello->open()) return true;
  return is_target() && !full_->hello->heard() && !out_of_patience_;
}

void Connection::look_at_deadline() {
  if (host_ && deadline()) host_->attention();
}

// Due at once wherever the time is needed, as only expired() tells it.
std::optional<Time> Connection::deadline() const {
  if (!deferred_.empty() || end_untold_) return Time{};
  if (!awaiting_first_message()) return {};
  return patience_.value_or(Time{});
}

void Connection::expired(Time now) {
  if (end_untold_) return report_end(end_reason_);
  if (awaiting_first_message()) {
    if (!patience_) {
      patience_ = now + settings_.hello_timeout;
    } else if (now >= *patience_) {
      if (!full_->hello->open()) fail(errc::iser_hello);
      out_of_patience_ = true;
    }
  }
  finish_turn();
}

// What we will not go on with: RFC 7145 section 10.1.3.3.
void Connection::fail(ErrorCode error) {
  if (over()) return;
  ending_ = true;
  end_reason_ = error;
  transfer_.set_read_limit(0);
  queue_pair_->flush();
  queue_pair_->disconnect(error);
}

void Connection::connection_terminate(ErrorCode why) {
  if (over()) return;
  if (!why) send_rest();
  held_.clear();
  parked_.clear();
  // From here on the session's memory is its own again (section 3.1.7).
  if (full_) full_->initiator_tasks.close_all();
  terminated_ = true;
  fail(why);
}

void Connection::disconnected(ErrorCode why) {
  if (ended_) return;
  if (!terminated_ && !end_reason_) end_reason_ = why ? why : errc::connection_closed;
  ending_ = true;
  completions_ready();
  ended_ = true;
  parked_.clear();
  held_.clear();
  if (full_) {
    full_->initiator_tasks.close_all();
    full_->target_tasks.close_all();
  }
  transfer_.abandon(end_reason_ ? end_reason_ : errc::terminated, deferred_);
  report_end(end_reason_);
}

void Connection::report_end(ErrorCode why) {
  end_untold_ = false;
  deliver_deferred();
  if (enabled_) {
    if (client_) std::exchange(client_, nullptr)->connection_terminate_notify(why);
  } else if (login_) {
    std::exchange(login_, nullptr)->login_connection_failed(why ? why : errc::terminated);
  }
}

void Connection::defer(iscsi::DataCompletion completion) {
  if (!client_) return;  // the lease goes back to its owner
  deferred_.push_back(std::move(completion));
}

void Connection::deliver_deferred() {
  while (!deferred_.empty() && client_) {
    std::vector<iscsi::DataCompletion> now;
    now.swap(deferred_);
    for (iscsi::DataCompletion& completion : now)
      client_->data_completion_notify(std::move(completion));
  }
}

// Behind each batch of what the queue pair brought.
void Connection::finish_turn() {
  if (!over()) {
    if (enabled_ || !is_target()) receives_.replenish();
    if (enabled_) release_held();
  }
  deliver_deferred();
  if (enabled_ && client_) client_->turn_ended();
  queue_pair_->flush();
}

}  // namespace openiser::iser
