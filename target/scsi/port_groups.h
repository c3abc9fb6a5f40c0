// Target port groups and how a logical unit is accessed through each of them (asymmetric logical
// unit access, SPC-4 section 5.15). A target port group is an iSCSI portal group, and has one
// target port: portals of one group are one port (RFC 7143 section 3.1).
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <span>

namespace openiser::target {

// ASYMMETRIC ACCESS STATE (SPC-4 section 6.37). Offline and LBA dependent are not among those here.
enum class AccessState : std::uint8_t {
  active_optimized = 0x0,
  active_non_optimized = 0x1,
  standby = 0x2,
  unavailable = 0x3,
  transitioning = 0xf,
};

struct PortGroupSettings {
  std::uint16_t tag = 1;  // TargetPortalGroupTag, and the target port group; not 0
  AccessState state = AccessState::active_optimized;
  bool preferred = false;
  bool operator==(const PortGroupSettings&) const = default;
};

// A logical unit's view of one group. Any thread; every command loads the state once.
class PortGroup {
 public:
  // STATUS CODE: what changed the state last.
  enum class ChangedBy : std::uint8_t { nothing = 0, command = 1, target = 2 };

  explicit PortGroup(const PortGroupSettings& settings)
      : tag_(settings.tag), state_(settings.state), preferred_(settings.preferred) {}

  std::uint16_t tag() const { return tag_; }
  AccessState state() const { return state_.load(std::memory_order_acquire); }
  bool preferred() const { return preferred_.load(std::memory_order_relaxed); }
  ChangedBy changed_by() const { return changed_by_.load(std::memory_order_relaxed); }

  // False if that is the state it has.
  bool change(AccessState state, ChangedBy by) {
    changed_by_.store(by, std::memory_order_relaxed);
    return state_.exchange(state, std::memory_order_acq_rel) != state;
  }
  void prefer(bool preferred) { preferred_.store(preferred, std::memory_order_relaxed); }

  // The unit's target can be reached through this group: initiators are not told of others.
  bool served() const { return served_.load(std::memory_order_relaxed); }
  // False if that is how it is.
  bool serve(bool served) { return served_.exchange(served, std::memory_order_relaxed) != served; }

 private:
  const std::uint16_t tag_;
  std::atomic<AccessState> state_;
  std::atomic<bool> preferred_;
  std::atomic<ChangedBy> changed_by_ = ChangedBy::nothing;
  std::atomic<bool> served_ = true;
};

// All groups of a logical unit; which there are is fixed, which of them are served is not.
class PortGroups {
 public:
  explicit PortGroups(std::span<const PortGroupSettings> settings) {
    for (const PortGroupSettings& group : settings) groups_.emplace_back(group);
  }
  // Null if there is none of that tag.
  PortGroup* find(std::uint16_t tag) {
    for (PortGroup& group : groups_) {
      if (group.tag() == tag) return &group;
    }
    return nullptr;
  }
  std::list<PortGroup>& all() { return groups_; }

 private:
  std::list<PortGroup> groups_;
};

}  // namespace openiser::target
