// The inside of a LogicalUnit: what the device server knows of it, and the nexuses that use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "target/scsi/atomic_writer.h"
#include "target/scsi/cdb.h"
#include "target/scsi/gate.h"
#include "target/scsi/kept_state.h"
#include "target/scsi/logical_unit.h"
#include "target/scsi/mailbox.h"
#include "target/scsi/medium.h"
#include "target/scsi/reservations/unit_reservations.h"
#include "target/scsi/sense.h"
#include "target/scsi/space_watch.h"
#include "target/scsi/unit_health.h"
#include "target/scsi/unit_notes.h"

namespace openiser::target {

class Nexus;

// Limits we report in the Block Limits page and hold initiators to; in bytes unless named blocks.
inline constexpr std::uint64_t kMaxTransfer = std::uint64_t{16} << 20;
inline constexpr std::uint32_t kMaxWriteSameBlocks = 65535;  // as much as WRITE SAME(10) can say
inline constexpr std::uint32_t kMaxCompareAndWriteBlocks = 255;
inline constexpr std::uint64_t kMaxAtomicWrite = std::uint64_t{1} << 20;
inline constexpr std::uint32_t kMaxUnmapBlocks = 1U << 20;
inline constexpr std::uint32_t kMaxUnmapDescriptors = 256;

// What can change about a unit while it is used, in one word that commands look at.
namespace unit_flag {
// Fields of mode pages (mode_pages.h).
inline constexpr std::uint32_t write_cache = 0x1;  // WCE; without it every write is as with FUA
inline constexpr std::uint32_t descriptor_sense = 0x2;        // D_SENSE
inline constexpr std::uint32_t software_write_protect = 0x4;  // SWP
inline constexpr std::uint32_t task_aborted_status = 0x8;     // TAS
inline constexpr std::uint32_t exceptions_off = 0x10;         // DEXCPT
inline constexpr std::uint32_t exceptions_test = 0x20;        // TEST
inline constexpr std::uint32_t exceptions_method = 0xf00;     // MRIE, one of:
inline constexpr std::uint32_t mode_fields = 0xf3f;
// An atomic write is to be finished by a restart; nothing else is written until then.
inline constexpr std::uint32_t unfinished_write = 0x1000;
}  // namespace unit_flag
inline constexpr std::uint32_t exceptions_by_attention = 0x200;
inline constexpr std::uint32_t exceptions_on_request = 0x600;

// Shared by all threads. Everything but the flags, the capacity and the list of nexuses is
// constant; the list is locked when a session first uses the unit or ends and for resets, never for
// another command.
class LogicalUnit : public std::enable_shared_from_this<LogicalUnit> {
 public:
  LogicalUnit(const std::string& target_name, LogicalUnitSettings settings,
              std::unique_ptr<Store> store);

  const LogicalUnitSettings& settings() const { return settings_; }
  // Its number in its target; initiators may know it by another (TargetDevice).
  std::uint16_t lun() const { return settings_.lun; }
  std::uint32_t block_size() const { return settings_.block_size; }
  std::uint64_t blocks() const { return blocks_.load(std::memory_order_relaxed); }
  // By configuration or by its store, for good.
  bool write_protected() const { return write_protected_; }
  // Why nothing may be written now, by whatever nexus.
  std::optional<Condition> unwritable() const;
  bool can_discard() const { return can_discard_; }
  bool volatile_cache() const { return volatile_cache_; }
  bool tells_space() const { return tells_space_; }
  bool can_write_atomically() const { return volatile_content_ || atomic_writer_; }
  // None where writes need no help to be atomic, or cannot be.
  AtomicWriter* atomic_writer() { return atomic_writer_ ? &*atomic_writer_ : nullptr; }
  // Whether it has all that a command with these bits (OpcodeRow::access) needs to be there.
  bool provides(unsigned access) const;
  // Blocks in a physical block.
  std::uint32_t physical_blocks() const {
    return settings_.physical_block_size / settings_.block_size;
  }
  // A threshold set (SBC-3 section 4.7.3.7) is this power of two of blocks: 1 MiB.
  unsigned threshold_exponent() const;
  // What log page 2F and REQUEST SENSE tell, other than errors.
  std::optional<Condition> exception() const;
  std::uint32_t flags() const { return flags_.load(std::memory_order_relaxed); }
  bool has_flag(std::uint32_t flag) const { return (flags() & flag) != 0; }
  std::uint32_t default_flags() const;
  std::uint32_t changeable_flags() const;
  // Sets those of `mask` to what `values` has; those that were different.
  std::uint32_t change_flags(std::uint32_t mask, std::uint32_t values);
  // Writes have to be on the medium before they end.
  bool writes_through() const { return volatile_cache_ && !has_flag(unit_flag::write_cache); }
  const std::string& serial() const { return serial_; }
  // NAA 6 (IEEE Registered Extended), 16 bytes, made from the serial number.
  const std::array<std::byte, 16>& identifier() const { return identifier_; }

  bool contains(const BlockRange& range) const {
    const std::uint64_t capacity = blocks();
    return range.lba < capacity && range.blocks <= capacity - range.lba;
  }

  const Store& store() const { return *store_; }
  void submit(StoreEngine& engine, StoreRequest& request) { store_->submit(engine, request); }

  Gate& gate() { return *gate_; }
  Medium& medium() { return medium_; }
  const Medium& medium() const { return medium_; }
  UnitReservations& reservations() { return reservations_; }
  const UnitReservations& reservations() const { return reservations_; }
  UnitHealth& health() { return health_; }
  const UnitHealth& health() const { return health_; }
  SpaceWatch& space_watch() { return space_watch_; }
  // Lets one PERSISTENT RESERVE OUT through at a time.
  Gate& reservations_gate() { return *reservations_gate_; }
  // And one SET IDENTIFYING INFORMATION.
  Gate& information_gate() { return *information_gate_; }
  // Where the unit has a folder for its state.
  KeptState kept_state(const std::string& kind, std::uint32_t version) const;
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
  // A unit attention on every nexus.
  void raise(Condition condition);
  // Reads the size of the store again; when it has changed, every nexus gets a unit attention.
  void check_capacity();
  Status grow(std::uint64_t size);
  void change_port_groups(std::span<const PortGroupSettings> groups);
  void serve_through(std::span<const std::uint16_t> tags);

 private:
  const std::string target_name_;
  const LogicalUnitSettings settings_;
  const std::unique_ptr<Store> store_;
  std::string serial_;
  std::array<std::byte, 16> identifier_;
  bool write_protected_;
  bool can_discard_;
  bool volatile_cache_;
  bool tells_space_;
  bool volatile_content_;
  std::atomic<std::uint64_t> blocks_;
  std::atomic<std::uint32_t> flags_;
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  const std::shared_ptr<Gate> reservations_gate_ = std::make_shared<Gate>();
  const std::shared_ptr<Gate> information_gate_ = std::make_shared<Gate>();
  UnitReservations reservations_;
  UnitNotes notes_;
  PortGroups port_groups_;
  UnitHealth health_;
  SpaceWatch space_watch_{*this};
  std::optional<AtomicWriter> atomic_writer_;

  NexusList nexuses_;
  Medium medium_{*store_, settings_.sanitize_rate};
};

}  // namespace openiser::target
