// A device as one pool's user sees it: its limits, a protection domain, and the pool's memory
// registered in it. Shared by the queue pairs of a thread that use the same device and pool.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "rdmap/verbs/cm.h"
#include "rdmap/verbs/handles.h"
#include "rdmap/verbs/pool_map.h"

namespace openiser::rdmap {

// What matters of a device.
struct DeviceFacts {
  bool iwarp = false;
  // Memory windows of type 2: bound by a work, to one queue pair, and invalidated by the peer.
  bool windows = false;
  // A window reaches as far as it was bound, and no further in the registration below it.
  bool bounded_windows = false;
  std::uint32_t max_works = 0;
  std::uint32_t max_completions = 0;
  std::uint16_t max_inbound_reads = 0;
  std::uint16_t max_outbound_reads = 0;
};

class ProtectionDomain {
 public:
  // That of the calling thread; made if there is none. Goes with the last who holds it.
  static Result<std::shared_ptr<ProtectionDomain>> of(const CmId& id, BufferPool& pool);
  ProtectionDomain(Owned<ibv_pd> domain, BufferPool& pool, const DeviceFacts& facts,
                   std::shared_ptr<Device> device = nullptr);

  const DeviceFacts& facts() const { return facts_; }
  ibv_pd* get() const { return domain_.get(); }

  Result<Owned<ibv_mr>> register_memory(Bytes memory, int access);
  // The registration that `memory` lies in, for local use alone; null if it is not of the pool.
  Result<ibv_mr*> registered_by_pool(Bytes memory) { return of_pool_.find(memory); }
  // Registered memory; empty when the pool is at its limit.
  Buffer take(std::size_t size) { return pool_.take(size); }

  // A window that is not bound.
  Result<Owned<ibv_mw>> take_window();
  void give_back(Owned<ibv_mw> window);

 private:
  std::shared_ptr<Device> device_;
  BufferPool& pool_;
  DeviceFacts facts_;
  Owned<ibv_pd> domain_;
  PoolMap<Owned<ibv_mr>> of_pool_;
  std::vector<Owned<ibv_mw>> windows_;
};

}  // namespace openiser::rdmap
