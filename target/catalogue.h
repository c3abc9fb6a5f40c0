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
#include "target/scsi/logical_unit.h"

namespace openiser::target {

// One address initiators reach us at.
struct PortalAddress {
  std::string address;  // "127.0.0.1:3260"
  std::uint16_t port = 0;
  std::uint16_t tag = 1;  // TargetPortalGroupTag
  bool wildcard = false;  // listens on every address of the machine
};

struct CatalogueTarget {
  std::shared_ptr<TargetDevice> device;
  std::string alias;
  iscsi::SharedChapSettings chap{};  // null: AuthMethod=None
};

struct Catalogue {
  std::map<std::string, CatalogueTarget> targets;
  std::vector<PortalAddress> portals;
  iscsi::SharedChapSettings discovery_chap;

  // Null if there is no such target. iSCSI names are compared as they are after normalisation to
  // lower case (RFC 7143 section 4.2.7.1).
  const CatalogueTarget* find(std::string_view name) const;
};

// iSCSI names in the form they are stored and compared in.
std::string normalised_name(std::string_view name);

// Who may log in to what: every initiator to every target there is that passes the target's CHAP,
// if it has one; for discovery it is the daemon's, whatever target is named. (RFC 7143
// section 11.13.5 has the status codes.)
iscsi::LoginAuthority::Verdict authorise(const Catalogue& catalogue,
                                         const iscsi::LoginAuthority::Request& request,
                                         std::uint16_t portal_group_tag);

// The answer to SendTargets (RFC 7143 Appendix C) on a connection that came in at `local_address`
// of the portal group `tag`: each target with the address that has just proved to work first, then
// the others. A portal on every address of the machine is named by the address that the connection
// came in at.
std::vector<iscsi::TargetRecord> target_records(const Catalogue& catalogue, std::string_view name,
                                                const std::string& local_address,
                                                std::uint16_t tag);

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
