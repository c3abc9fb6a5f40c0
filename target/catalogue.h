// The targets there are, by name, as all threads see them: fixed once made. A reload makes a new
// catalogue and publishes it; who holds the old one may go on using it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "iscsi/login/login.h"
#include "iscsi/session/target_session.h"
#include "target/access.h"
#include "target/scsi/logical_unit.h"

namespace openiser::target {

using Redirection = iscsi::LoginAuthority::Redirection;

// One address initiators reach us at.
struct PortalAddress {
  std::string address;  // "127.0.0.1:3260"
  std::uint16_t port = 0;
  std::uint16_t tag = 1;                     // TargetPortalGroupTag
  bool wildcard = false;                     // listens on every address of the machine
  std::optional<Redirection> redirection{};  // of every login that comes in here
};

struct CatalogueTarget {
  std::shared_ptr<const TargetDevice> device;  // all of it
  std::string alias;
  iscsi::SharedChapSettings chap{};  // null: AuthMethod=None
  Access access{};
  std::vector<std::uint16_t> portal_groups{};  // empty: all
  std::optional<Redirection> redirection{};
  std::vector<config::Lun> luns{};  // what the units of `device` were made from

  bool served_through(std::uint16_t portal_group_tag) const;
  // Of an initiator; null for one that the list leaves out.
  std::shared_ptr<const TargetDevice> device_of(std::string_view initiator_name) const;
};

struct Catalogue {
  std::map<std::string, CatalogueTarget> targets;
  std::vector<PortalAddress> portals;
  iscsi::SharedChapSettings discovery_chap;
  Access discovery_access;

  // Null if there is no such target. iSCSI names are compared as they are after normalisation to
  // lower case (RFC 7143 section 4.2.7.1).
  const CatalogueTarget* find(std::string_view name) const;
};

// iSCSI names in the form they are stored and compared in.
std::string normalised_name(std::string_view name);

// How an initiator has come in.
struct Arrival {
  std::string peer_address;   // "192.0.2.7:51234"
  std::string local_address;  // "192.0.2.1:3260"
  std::uint16_t portal_group_tag = 1;
  std::size_t portal = 0;  // of Catalogue::portals
};

// Who may log in to what. RFC 7143 section 11.13.5 has the status codes: a target that is not
// there, or not served through this portal group, is not found (0x0203: "does not exist at this
// address"); an initiator that is not on its list, or comes from elsewhere than its networks, is
// not authorised (0x0202). That is told before it has proved anything: names are no secrets, and so
// strangers cost nothing more. Then come redirections, of the portal before those of the target;
// for discovery accounts and lists are the daemon's, whatever target is named.
iscsi::LoginAuthority::Verdict authorise(const Catalogue& catalogue,
                                         const iscsi::LoginAuthority::Request& request,
                                         const Arrival& arrival);

// The answer to SendTargets (RFC 7143 Appendix C): each target the initiator may log in to with the
// portals it is served through, the address that has just proved to work first. A portal on every
// address of the machine is named by the address that the connection came in at; loopback addresses
// are told only to who came in at one.
std::vector<iscsi::TargetRecord> target_records(const Catalogue& catalogue, std::string_view name,
                                                std::string_view initiator_name,
                                                const Arrival& arrival);

// The catalogue in use: read by any thread at any time.
class CurrentCatalogue {
 public:
  explicit CurrentCatalogue(std::shared_ptr<const Catalogue> first) : current_(std::move(first)) {}
  std::shared_ptr<const Catalogue> get() const { return current_.load(); }
  void publish(std::shared_ptr<const Catalogue> next) { current_.store(std::move(next)); }

 private:
  std::atomic<std::shared_ptr<const Catalogue>> current_;
};

}  // namespace openiser::target
