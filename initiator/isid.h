// The ISID by which a target knows a session of this host.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::initiator {

// What this host has a session for.
struct NexusName {
  std::string initiator;
  std::string target;
  std::uint16_t lun = 0;
};

// An ISID, held for the life of the object: no other session of this host gets it meanwhile. A
// target keeps registrations and reservations for an initiator port, which is the initiator's name
// and the ISID; so the same one comes back after a new login, a restart and a reboot (RFC 7143
// section 10.1.1, conservative reuse). It is made from the host's machine-id and the nexus' name.
// Several sessions of the same name at once get several, in the order in which they come.
class HeldIsid {
 public:
  // Throws SessionError.
  explicit HeldIsid(const NexusName& nexus);
  const iscsi::Isid& value() const { return isid_; }

 private:
  // Throws SessionError, false if another session holds it.
  bool take(const iscsi::Isid& isid);

  // A socket bound to an address made of the ISID. The kernel lets go of it when the process ends,
  // however it ends.
  Descriptor claim_;
  iscsi::Isid isid_{};
};

}  // namespace openiser::initiator
