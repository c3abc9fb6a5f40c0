#include "rdmap/verbs/exposed_regions.h"

#include <utility>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

int flags_of(Access access) {
  switch (access) {
    case Access::remote_read:
      return IBV_ACCESS_REMOTE_READ;
    case Access::remote_write:
    case Access::remote_write_fresh:
      return IBV_ACCESS_REMOTE_WRITE;
    default:
      return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  }
}

// Memory that is only read may be mapped for reading alone.
int local_access_for(int access) {
  return (access & IBV_ACCESS_REMOTE_WRITE) != 0 ? IBV_ACCESS_LOCAL_WRITE : 0;
}

}  // namespace

Result<Stag> ExposedRegions::add(MutableBytes memory, Access access) {
  if (all_.size() >= most_) return errc::too_many_regions;
  if (memory.empty()) return make_error_code(boost::system::errc::invalid_argument);
  return domain_.facts().windows ? add_window(memory, flags_of(access))
                                 : add_registration(memory, flags_of(access));
}

Result<Stag> ExposedRegions::add_registration(MutableBytes memory, int access) {
  auto made = domain_.register_memory(memory, access | local_access_for(access));
  if (!made) return made.error();
  const Stag stag{(*made)->rkey};
  all_[stag.value].own = std::move(*made);
  return stag;
}

Result<Stag> ExposedRegions::add_window(MutableBytes memory, int access) {
  Region region;
  Result<ibv_mr*> in_pool = nullptr;
  if (domain_.facts().bounded_windows) in_pool = domain_.registered_by_pool(memory);
  if (!in_pool) return in_pool.error();
  if (!*in_pool) {
    auto own = domain_.register_memory(memory, local_access_for(access) | IBV_ACCESS_MW_BIND);
    if (!own) return own.error();
    region.own = std::move(*own);
  }
  auto window = domain_.take_window();
  if (!window) return window.error();
  const Stag stag{ibv_inc_rkey((*window)->rkey)};
  region.window =
      std::make_unique<Window>(Window{.window = std::move(*window),
                                      .key = stag.value,
                                      .region = region.own ? region.own.get() : *in_pool,
                                      .memory = memory,
                                      .access = access});
  sends_.bind(*region.window);
  all_.insert_or_assign(stag.value, std::move(region));
  return stag;
}

bool ExposedRegions::unsettled(Stag stag) const {
  const auto found = all_.find(stag.value);
  return found != all_.end() && found->second.window &&
         found->second.window->state == Window::State::with_device;
}

void ExposedRegions::remove(Stag stag) {
  const auto found = all_.find(stag.value);
  if (found == all_.end()) return;
  if (found->second.window) {
    Window& window = *found->second.window;
    sends_.forget(window);
    // What was invalidated or never bound can be bound again; another way to end a binding at once
    // than to give the window up there is not.
    if (found->second.invalidated || window.state == Window::State::waiting)
      domain_.give_back(std::move(window.window));
  }
  all_.erase(found);
}

std::optional<Stag> ExposedRegions::invalidated_by(const ibv_wc& completion) {
  // Linux's rxe sets the kernel's flag, whose bit means another thing in user space.
  constexpr unsigned kFlags = IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK;
  if ((completion.wc_flags & kFlags) == 0) return std::nullopt;
  const auto found = all_.find(completion.invalidated_rkey);
  if (found == all_.end()) return std::nullopt;
  found->second.invalidated = true;
  return Stag{completion.invalidated_rkey};
}

}  // namespace openiser::rdmap
