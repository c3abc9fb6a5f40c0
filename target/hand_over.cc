// The change of a ServerConnection into full feature phase. All of it happens in one deferred call,
// between two turns of the driver: no byte moves while endpoints are exchanged.
#include <array>
#include <utility>

#include "base/hex.h"
#include "base/log.h"
#include "iscsi/errors.h"
#include "target/scsi/nexus.h"
#include "target/server_connection.h"
#include "target/wire_settings.h"

namespace openiser::target {

namespace {

// RFC 7143 section 4.4.1: SCSI port names.
NexusIdentity identity_of(const iscsi::Parameters& parameters, std::uint16_t portal_group_tag) {
  std::array<std::byte, 2> tag;
  store_be16(tag.data(), portal_group_tag);
  return {.initiator_port = parameters.initiator_name + ",i,0x" + to_hex(parameters.isid),
          .target_port = normalised_name(parameters.target_name) + ",t,0x" + to_hex(tag),
          .relative_target_port = portal_group_tag,
          .initiator_name = parameters.initiator_name};
}

}  // namespace

// The nexus is ours: what had it is gone.
void ServerConnection::admitted(std::uint16_t tsih) {
  if (phase_ != Phase::waiting) return;
  if (!prepare_nexus()) return apply(login_->refuse(iscsi::errc::login_target_removed));
  if (wire_ == Wire::rdma_first) {
    hand_over_rdma_first(tsih);
  } else if (login_->parameters().rdma_extensions) {
    hand_over_stream_first(tsih);
  } else {
    hand_over_plain(tsih);
  }
  if (phase_ == Phase::full_feature) {
    login_.reset();
    channel_ = nullptr;
    stream_.reset();
  }
  rearm();
}

// False if the target has gone since it was named, or lets the initiator in no more. A discovery
// session needs no nexus.
bool ServerConnection::prepare_nexus() {
  const iscsi::Parameters& parameters = login_->parameters();
  if (parameters.session_type == iscsi::SessionType::discovery) return true;
  // A reload tells the sessions there are: what it published before we were one is looked up again.
  std::shared_ptr<const Catalogue> catalogue;
  do {
    nexus_.reset();
    catalogue = context_.catalogue.get();
    const CatalogueTarget* target = catalogue->find(parameters.target_name);
    auto device = target ? target->device_of(parameters.initiator_name) : nullptr;
    if (!device) return false;
    nexus_ = make_nexus(std::move(device), identity_of(parameters, arrival_.portal_group_tag),
                        context_.loop, context_.engine);
  } while (context_.catalogue.get() != catalogue);
  return true;
}

void ServerConnection::hand_over_plain(std::uint16_t tsih) {
  stream_->send(*login_->grant(tsih, context_.config.limits.command_window).send);
  plain_ = iscsi::make_tcp_datamover(iscsi::Role::target, login_->parameters(), context_.pool,
                                     stream_->take_unsent(), stream_->take_unread());
  start_session(*plain_, "plain");
  tcp_->drive(*plain_);
}

// RFC 7145 section 5.1.2: the final Login Response is the last of the byte stream, and nothing of
// ours comes between it and MPA. Until the driver is given the new endpoint nothing has been sent,
// so the login may still be refused.
void ServerConnection::hand_over_stream_first(std::uint16_t tsih) {
  stream_->send(*login_->grant(tsih, context_.config.limits.command_window).send);
  const iscsi::Parameters& parameters = login_->parameters();
  make_queue_pair(stream_first_dialect(context_.config.rdma.dialect, parameters),
                  {.write_first = stream_->take_unsent(), .already_read = stream_->take_unread()},
                  nullptr);
  if (!iser_->allocate_connection_resources(
          with_base_offset(parameters, wire_, context_.config.rdma.base_offset))) {
    iser_endpoint_.reset();
    iser_.reset();
    return apply(login_->refuse(iscsi::errc::login_out_of_resources));
  }
  start_session(*iser_, "stream-first");
  iser_->enable_datamover(*recorder_);
  tcp_->drive(*iser_endpoint_);
}

void ServerConnection::hand_over_rdma_first(std::uint16_t tsih) {
  if (!iser_->allocate_connection_resources(
          with_base_offset(login_->parameters(), wire_, context_.config.rdma.base_offset))) {
    return apply(login_->refuse(iscsi::errc::login_out_of_resources));
  }
  auto final_response = login_->grant(tsih, context_.config.limits.command_window).send;
  start_session(*iser_, verbs_ ? "verbs" : "rdma-first");
  iser_->enable_datamover(*recorder_, std::move(final_response));
}

// As responder (RFC 5044 section 7.1.2), for either way.
void ServerConnection::make_queue_pair(iser::Dialect dialect, rdmap::Upgrade upgrade,
                                       LoginClient* login) {
  rdmap::MpaDecision decision;
  if (login) decision = [this](Bytes data) { return answer_rdma_request(data); };
  auto queue_pair = rdmap::make_iwarp_queue_pair(
      rdmap::MpaRole::responder, mpa_settings(context_.config, tcp_->socket().emss()), now(),
      std::move(upgrade), std::move(decision));
  StreamEndpoint& stream = *queue_pair;
  iser_ = iser::IserConnection::create(
      std::move(queue_pair), iser_settings(context_.config, dialect), context_.pool, login);
  iser_endpoint_.emplace(stream, *iser_);
}

void ServerConnection::start_session(iscsi::Datamover& datamover, const char* wire) {
  const iscsi::Parameters& p = login_->parameters();
  phase_ = Phase::full_feature;
  ticket_.set_wire(wire);
  recorder_.emplace(datamover, context_.loop);
  session_ = iscsi::TargetSession::create(p, *recorder_, nexus_.get(), *this,
                                          session_limits(context_.config.limits), &context_.pool);
  log::info("session", who() + ": " + p.initiator_name + " logged in " +
                           (nexus_ ? "to " + p.target_name : "for discovery") + ", " + wire +
                           (p.user.empty() ? "" : ", as user " + p.user));
}

}  // namespace openiser::target
