// What stands for a lease's memory while the device has it. Memory of the pool stands for itself;
// of other memory little is copied through a block of the pool, and more is registered for the time
// of the work.
#pragma once

#include "rdmap/verbs/protection_domain.h"

namespace openiser::rdmap {

class LocalMemory {
 public:
  enum class Use {
    source,
    sink,
    // Of an RDMA Read over iWARP: the peer's response names the sink by an STag, so it is
    // registered alone, and open to the peer's writing (RFC 5040 section 5.2).
    named_sink,
  };

  LocalMemory() = default;
  static Result<LocalMemory> of(ProtectionDomain& domain, MutableBytes memory, Use use);

  const ibv_sge& element() const { return element_; }
  // The device has put `length` bytes there: brings them to where they belong.
  void arrived(MutableBytes memory, std::size_t length) const;

 private:
  ibv_sge element_{};
  Owned<ibv_mr> own_;
  Buffer stand_in_;
};

}  // namespace openiser::rdmap
