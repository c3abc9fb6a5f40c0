// What a VerbsRequest holds.
#pragma once

#include <memory>

#include "rdmap/verbs/cm.h"
#include "rdmap/verbs/queue_pair.h"
#include "rdmap/verbs/verbs.h"

namespace openiser::rdmap {

struct VerbsRequest::State {
  // Reports to the listener's channel until it is accepted.
  CmId id;
  PeerOffer offer;

  static VerbsRequest request_of(CmId id, PeerOffer offer);
};

}  // namespace openiser::rdmap
