#include "rdmap/verbs/protection_domain.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "rdmap/verbs/verbs_errors.h"

namespace openiser::rdmap {
namespace {

// Unbound windows kept for the next region.
constexpr std::size_t kWindowsKept = 256;
// Vendor of Linux's rxe, which checks a window's rights, but the bounds of its registration.
constexpr std::uint32_t kRxe = 0xffffff;

Result<DeviceFacts> facts_of(ibv_context* device) {
  ibv_device_attr found{};
  if (const int error = ibv_query_device(device, &found)) return error_of_opening(error);
  constexpr unsigned kWindows = IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  return DeviceFacts{
      .iwarp = device->device->transport_type == IBV_TRANSPORT_IWARP,
      .windows = (found.device_cap_flags & kWindows) != 0 && found.max_mw > 0,
      .bounded_windows = found.vendor_id != kRxe,
      .max_works = static_cast<std::uint32_t>(found.max_qp_wr),
      .max_completions = static_cast<std::uint32_t>(found.max_cqe),
      .max_inbound_reads = static_cast<std::uint16_t>(found.max_qp_rd_atom),
      .max_outbound_reads = static_cast<std::uint16_t>(found.max_qp_init_rd_atom),
  };
}

}  // namespace

Result<std::shared_ptr<ProtectionDomain>> ProtectionDomain::of(const CmId& id, BufferPool& pool) {
  thread_local std::map<std::pair<ibv_context*, BufferPool*>, std::weak_ptr<ProtectionDomain>> all;
  std::erase_if(all, [](const auto& each) { return each.second.expired(); });
  ibv_context* const device = id.id->verbs;
  auto& place = all[{device, &pool}];
  if (auto there = place.lock()) return there;
  const auto facts = facts_of(device);
  if (!facts) return facts.error();
  Owned<ibv_pd> domain(ibv_alloc_pd(device));
  if (!domain) return error_of_opening(errno);
  auto made = std::make_shared<ProtectionDomain>(std::move(domain), pool, *facts, id.device);
  place = made;
  return made;
}

ProtectionDomain::ProtectionDomain(Owned<ibv_pd> domain, BufferPool& pool, const DeviceFacts& facts,
                                   std::shared_ptr<Device> device)
    : device_(std::move(device)),
      pool_(pool),
      facts_(facts),
      domain_(std::move(domain)),
      of_pool_(pool, [this](Bytes memory) {
        const int bind = facts_.windows ? IBV_ACCESS_MW_BIND : 0;
        return register_memory(memory, IBV_ACCESS_LOCAL_WRITE | bind);
      }) {}

Result<Owned<ibv_mr>> ProtectionDomain::register_memory(Bytes memory, int access) {
  auto* const start = const_cast<std::byte*>(memory.data());
  Owned<ibv_mr> made(ibv_reg_mr(domain_.get(), start, memory.size(), access));
  if (made) return made;
  // Memory that is mapped for reading alone can be sent from.
  if ((errno == EFAULT || errno == EACCES) && access == IBV_ACCESS_LOCAL_WRITE)
    made.reset(ibv_reg_mr(domain_.get(), start, memory.size(), 0));
  if (!made) return error_of_registration(errno);
  return made;
}

Result<Owned<ibv_mw>> ProtectionDomain::take_window() {
  if (!windows_.empty()) {
    auto taken = std::move(windows_.back());
    windows_.pop_back();
    return taken;
  }
  Owned<ibv_mw> made(ibv_alloc_mw(domain_.get(), IBV_MW_TYPE_2));
  if (!made) return error_of_registration(errno);
  return made;
}

void ProtectionDomain::give_back(Owned<ibv_mw> window) {
  if (windows_.size() < kWindowsKept) windows_.push_back(std::move(window));
}

}  // namespace openiser::rdmap
