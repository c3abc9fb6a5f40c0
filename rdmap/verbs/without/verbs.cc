// In place of the folder above, in a build without rdma-core.
#include "rdmap/verbs/verbs.h"

#include "rdmap/errors.h"

namespace openiser::rdmap {

struct VerbsRequest::State {};
struct VerbsListener::State {};
struct VerbsConnect::State {};

bool verbs_built() {
  return false;
}
std::string verbs_version() {
  return "not in this build";
}
bool verbs_device_carries(const std::string&) {
  return false;
}

// No request ever comes.
VerbsRequest::VerbsRequest() = default;
VerbsRequest::VerbsRequest(VerbsRequest&&) noexcept = default;
VerbsRequest& VerbsRequest::operator=(VerbsRequest&&) noexcept = default;
VerbsRequest::~VerbsRequest() = default;
std::string VerbsRequest::local_address() const {
  return {};
}
std::string VerbsRequest::peer_address() const {
  return {};
}
Bytes VerbsRequest::private_data() const {
  return {};
}
Result<std::unique_ptr<VerbsQueuePair>> VerbsRequest::accept(EventLoop&, BufferPool&,
                                                             VerbsSettings) {
  return make_error_code(errc::verbs_not_built);
}
void VerbsRequest::reject(Bytes) {}

Result<std::unique_ptr<VerbsListener>> VerbsListener::open(EventLoop&, const std::string&,
                                                           std::uint16_t,
                                                           std::function<void(VerbsRequest)>) {
  return make_error_code(errc::verbs_not_built);
}
VerbsListener::VerbsListener(std::shared_ptr<State> state) : state_(std::move(state)) {}
VerbsListener::~VerbsListener() = default;
std::string VerbsListener::address() const {
  return {};
}
std::uint16_t VerbsListener::port() const {
  return 0;
}

VerbsConnect::VerbsConnect(EventLoop& loop, BufferPool&, const std::string&, std::uint16_t,
                           VerbsSettings,
                           std::function<void(Result<std::unique_ptr<VerbsQueuePair>>)> done)
    : state_(std::make_shared<State>()) {
  loop.post([done = std::move(done), alive = std::weak_ptr(state_)] {
    if (!alive.expired()) done(make_error_code(errc::verbs_not_built));
  });
}
VerbsConnect::~VerbsConnect() = default;

}  // namespace openiser::rdmap
