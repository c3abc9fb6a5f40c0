// The inside of a LogicalUnit: what the device server knows of it, and the nexuses that use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "target/scsi/cdb.h"
#include "target/scsi/gate.h"
#include "target/scsi/logical_unit.h"
#include "target/scsi/mailbox.h"
#include "target/scsi/reservations/unit_reservations.h"
#include "target/scsi/sense.h"
#include "target/scsi/unit_notes.h"

namespace openiser::target {

class Nexus;

// Limits we report in the Block Limits page and hold initiators to; in bytes unless named blocks.
inline constexpr std::uint64_t kMaxTransfer = std::uint64_t{16} << 20;
inline constexpr std::uint32_t kPhysicalBlock = 4096;
inline constexpr std::uint32_t kMaxWriteSameBlocks = 65535;  // as much as WRITE SAME(10) can say
inline constexpr std::uint32_t kMaxCompareAndWriteBlocks = 255;
inline constexpr std::uint32_t kMaxUnmapBlocks = 1U << 20;
inline constexpr std::uint32_t kMaxUnmapDescriptors = 256;

// Shared by all threads. Everything but the capacity and the list of nexuses is constant; the list
// is locked when a session first uses the unit or ends and for resets, never for another command.
class LogicalUnit {
 public:
  LogicalUnit(const std::string& target_name, LogicalUnitSettings settings,
              std::unique_ptr<Store> store);

  const LogicalUnitSettings& settings() const { return settings_; }
  // Its number in its target; initiators may know it by another (TargetDevice).
  std::uint16_t lun() const { return settings_.lun; }
  std::uint32_t block_size() const { return settings_.block_size; }
  std::uint64_t blocks() const { return blocks_.load(std::memory_order_relaxed); }
  bool write_protected() const { return write_protected_; }
  bool can_discard() const { return can_discard_; }
  bool volatile_cache() const { return volatile_cache_; }
  const std::string& serial() const { return serial_; }
  // NAA 6 (IEEE Registered Extended), 16 bytes, made from the serial number.
  const std::array<std::byte, 16>& identifier() const { return identifier_; }

  bool contains(const BlockRange& range) const {
    const std::uint64_t capacity = blocks();
    return range.lba < capacity && range.blocks <= capacity - range.lba;
  }

  void submit(StoreEngine& engine, StoreRequest& request) { store_->submit(engine, request); }

  Gate& gate() { return *gate_; }
  UnitReservations& reservations() { return reservations_; }
  UnitNotes& notes() { return notes_; }
  PortGroups& port_groups() { return port_groups_; }

  // A nexus attaches when it first addresses the unit: until then it has nothing to be told.
  void attach(std::shared_ptr<Mailbox> mailbox) { nexuses_.attach(std::move(mailbox)); }
  void detach(const Mailbox& mailbox) { nexuses_.detach(mailbox); }
  // Runs `call` on the thread of every nexus but `except` (null: of all).
  void post_to_nexuses(const Mailbox* except, const std::function<void(Nexus&)>& call) {
    nexuses_.post(except, call);
  }
  // A unit attention for every nexus but this one.
  void raise_on_others(const Nexus& nexus, Condition condition);
  // Reads the size of the store again; when it has changed, every nexus gets a unit attention.
  void check_capacity();
  Status grow(std::uint64_t size);
  void change_port_groups(std::span<const PortGroupSettings> groups);

 private:
  const LogicalUnitSettings settings_;
  const std::unique_ptr<Store> store_;
  std::string serial_;
  std::array<std::byte, 16> identifier_;
  bool write_protected_;
  bool can_discard_;
  bool volatile_cache_;
  std::atomic<std::uint64_t> blocks_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  UnitReservations reservations_;
  UnitNotes notes_;
  PortGroups port_groups_;

  NexusList nexuses_;
};

}  // namespace openiser::target
