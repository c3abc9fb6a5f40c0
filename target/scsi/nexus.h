// The SCSI side of one session: an I_T nexus. Executes tasks on a TargetDevice's logical units for
// one initiator port, on one thread; keeps that nexus's unit attentions.
#pragma once

#include <memory>
#include <string>

#include "iscsi/session/target_session.h"
#include "rdmap/tcp/event_loop.h"
#include "target/scsi/logical_unit.h"
#include "target/store/store.h"

namespace openiser::target {

struct NexusIdentity {
  std::string initiator_port;  // "iqn...,i,0x<ISID>" (RFC 7143 section 3.4.5)
  std::string target_port;     // "iqn...,t,0x<TPGT>"
  std::uint16_t relative_target_port = 1;
  std::string initiator_name = {};
};

// `loop` and `engine` are those of the session's thread. Destroyed there when every task is
// finished or released. Other nexuses reach this one (to abort its tasks on a LUN reset, to raise
// unit attentions) by posting to `loop`.
std::unique_ptr<iscsi::TaskHandler> make_nexus(std::shared_ptr<const TargetDevice> device,
                                               NexusIdentity identity, rdmap::EventLoop& loop,
                                               StoreEngine& engine);

}  // namespace openiser::target
