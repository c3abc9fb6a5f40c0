#include "rdmap/verbs/device.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "rdmap/verbs/cm.h"

namespace openiser::rdmap {
namespace {

constexpr const char* kFiles = "/dev/infiniband";

CmChannel channel_if_any() {
  auto made = open_cm_channel();
  return made ? std::move(*made) : nullptr;
}

// All devices that are used, and those that were, until they are removed. There for as long as the
// process is, since so is the thread that waits for files to go.
class Devices {
 public:
  static Devices& all() {
    static auto* const made = new Devices;
    return *made;
  }

  std::shared_ptr<Device> of(const rdma_cm_id& id);
  // With the lock held.
  std::shared_ptr<Device> let_go(const ibv_context* context) {
    return std::exchange(known_[context].kept, nullptr);
  }

  std::mutex lock;

 private:
  struct Known {
    std::weak_ptr<Device> any;
    std::shared_ptr<Device> kept;  // none once it is being removed
  };

  Devices();
  void wait_for_changes();
  std::vector<std::shared_ptr<Device>> going(const std::vector<const rdma_cm_id*>& told);

  const int changes_;
  const CmChannel channel_;
  std::map<const ibv_context*, Known> known_;
};

Devices::Devices()
    : changes_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)), channel_(channel_if_any()) {
  std::thread([this] { wait_for_changes(); }).detach();
}

// Bound to the device that `id` is bound to; null if that cannot be.
Owned<rdma_cm_id> bound_beside(const rdma_cm_id& id, const CmChannel& channel) {
  auto made = CmId::make(channel);
  if (!made || !made->bind(SocketAddress::copy_of(id.route.addr.src_addr).with_port(0)))
    return nullptr;
  return made->id->verbs == id.verbs ? std::move(made->id) : nullptr;
}

std::shared_ptr<Device> Devices::of(const rdma_cm_id& id) {
  const std::lock_guard held(lock);
  Known& known = known_[id.verbs];
  if (auto there = known.any.lock()) return there;
  ::inotify_add_watch(changes_, kFiles, IN_DELETE);
  auto hold = channel_ ? bound_beside(id, channel_) : nullptr;
  known.kept = std::make_shared<Device>(id.verbs, std::move(hold));
  known.any = known.kept;
  return known.kept;
}

// Either tells of a removal where the other cannot: the connection manager has to hear of it before
// the kernel waits, and a container need not see the files go.
void Devices::wait_for_changes() {
  std::array<pollfd, 2> sources{pollfd{changes_, POLLIN, 0},
                                pollfd{channel_ ? channel_->fd : -1, POLLIN, 0}};
  alignas(inotify_event) std::array<char, 4096> which;
  while (::poll(sources.data(), sources.size(), -1) > 0 || errno == EINTR) {
    while (::read(changes_, which.data(), which.size()) > 0) {
    }
    std::vector<const rdma_cm_id*> told;
    while (const auto event = channel_ ? next_event(*channel_) : std::nullopt) {
      if (event->type == RDMA_CM_EVENT_DEVICE_REMOVAL) told.push_back(event->id);
    }
    for (const auto& each : going(told)) each->removed();
  }
}

std::vector<std::shared_ptr<Device>> Devices::going(const std::vector<const rdma_cm_id*>& told) {
  const std::lock_guard held(lock);
  std::vector<std::shared_ptr<Device>> found;
  for (const auto& [context, known] : known_) {
    if (known.kept && (!known.kept->has_file() || known.kept->is_held_by(told)))
      found.push_back(known.kept);
  }
  return found;
}

// The context stays, and is librdmacm's to free, with what its descriptors then are.
void close_descriptors(const ibv_context& context) {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  for (const int open : {context.cmd_fd, context.async_fd}) ::dup3(nothing, open, O_CLOEXEC);
  ::close(nothing);
}

}  // namespace

std::shared_ptr<Device> Device::of(const rdma_cm_id& id) {
  return id.verbs ? Devices::all().of(id) : nullptr;
}

Device::Device(ibv_context* context, Owned<rdma_cm_id> hold)
    : context_(context), hold_(std::move(hold)) {}

Device::~Device() {
  const std::unique_lock held(librdmacm_devices());
  hold_.reset();
  if (removed_) close_descriptors(*context_);
}

bool Device::is_held_by(const std::vector<const rdma_cm_id*>& ids) const {
  return std::ranges::find(ids, hold_.get()) != ids.end();
}

bool Device::has_file() const {
  const std::string file = std::string(kFiles) + '/' + context_->device->dev_name;
  return ::access(file.c_str(), F_OK) == 0;
}

void Device::removed() {
  std::shared_ptr<Device> kept;  // goes when the lock is free again
  const std::lock_guard held(Devices::all().lock);
  if (std::exchange(removed_, true)) return;
  kept = Devices::all().let_go(context_);
  for (RemovalNotice* const each : notices_) each->post();
}

RemovalNotice::RemovalNotice(std::shared_ptr<Device> device, EventLoop& loop,
                             std::function<void()> call)
    : device_(std::move(device)),
      loop_(loop),
      call_(std::make_shared<std::function<void()>>(std::move(call))) {
  const std::lock_guard held(Devices::all().lock);
  device_->notices_.push_back(this);
  if (device_->removed_) post();
}

RemovalNotice::~RemovalNotice() {
  const std::lock_guard held(Devices::all().lock);
  std::erase(device_->notices_, this);
}

void RemovalNotice::post() {
  loop_.post([weak = std::weak_ptr(call_)] {
    if (const auto call = weak.lock()) (*call)();
  });
}

}  // namespace openiser::rdmap
