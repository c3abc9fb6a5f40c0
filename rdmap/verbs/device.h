// The devices that this process uses, so that they can be taken away. The kernel ends the removal
// of a device that it cannot take from its users (siw, rxe) only when these have closed every
// descriptor of it, and librdmacm keeps those that it opened for life. So users are counted and
// told here, and the last of a removed device closes them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "rdmap/tcp/event_loop.h"
#include "rdmap/verbs/handles.h"

namespace openiser::rdmap {

class RemovalNotice;

class Device {
 public:
  // That which `id` is bound to; null if it is bound to none. Whoever has something of the device,
  // identifiers included, holds it until that is gone.
  static std::shared_ptr<Device> of(const rdma_cm_id& id);
  // The removal of one that is used, or was, is under way. Any thread; once is enough.
  void removed();

  Device(ibv_context* context, Owned<rdma_cm_id> hold);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // Its file in /dev/infiniband is there, which goes before the kernel waits.
  bool has_file() const;
  // One of `ids` is that by which this is bound to the device.
  bool is_held_by(const std::vector<const rdma_cm_id*>& ids) const;

 private:
  friend class RemovalNotice;

  ibv_context* const context_;
  // Bound to the device, so that librdmacm does not free the context, and tells of the removal.
  Owned<rdma_cm_id> hold_;
  // Guarded by the lock over all devices.
  bool removed_ = false;
  std::vector<RemovalNotice*> notices_;
};

// `call` comes once, on `loop`, if the device is removed while this is there.
class RemovalNotice {
 public:
  RemovalNotice(std::shared_ptr<Device> device, EventLoop& loop, std::function<void()> call);
  ~RemovalNotice();
  RemovalNotice(const RemovalNotice&) = delete;
  RemovalNotice& operator=(const RemovalNotice&) = delete;

 private:
  friend class Device;
  void post();

  std::shared_ptr<Device> device_;
  EventLoop& loop_;
  std::shared_ptr<std::function<void()>> call_;
};

}  // namespace openiser::rdmap
