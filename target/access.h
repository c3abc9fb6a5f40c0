// Who may use a target, or discovery: by initiator name and by where it comes from. Fixed once
// made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "iscsi/login/chap.h"
#include "target/scsi/logical_unit.h"

namespace openiser::target {

// Whether `name` is what `pattern` says: * stands for any run of characters, ? for one.
bool matches(std::string_view pattern, std::string_view name);

// 16 bytes, IPv4 in its mapped form (::ffff:a.b.c.d).
using AddressBytes = std::array<std::uint8_t, 16>;
// Of "192.0.2.1:3260" or "[2001:db8::1]:3260"; none for anything else.
std::optional<AddressBytes> address_bytes(std::string_view address);
bool contains(const config::Network& network, const AddressBytes& address);
bool is_loopback(const AddressBytes& address);

// An initiator of the list, or a pattern of such.
struct AccessRule {
  std::string name;                              // normalised
  iscsi::SharedChapSettings chap{};              // null: the target's
  std::shared_ptr<const TargetDevice> device{};  // null: all of the target
};

struct Access {
  std::vector<AccessRule> initiators;     // empty: everybody
  std::vector<config::Network> networks;  // empty: from everywhere

  // The rule for an initiator: its own, or else the first pattern that fits. Null without one.
  const AccessRule* find(std::string_view initiator_name) const;
  // `peer_address`: as address_bytes() takes it.
  bool allows(std::string_view initiator_name, std::string_view peer_address) const;
};

}  // namespace openiser::target
