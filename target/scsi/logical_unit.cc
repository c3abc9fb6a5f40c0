#include "target/scsi/logical_unit.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "base/hex.h"
#include "target/scsi/mailbox.h"
#include "target/scsi/nexus_state.h"
#include "target/scsi/reservations/saved.h"
#include "target/scsi/unit.h"

namespace openiser::target {
namespace {

// FNV-1a with a final mix: stable over restarts and builds, which is all that is asked of it.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return h ^ h >> 31;
}

std::string default_serial(const std::string& target_name, std::uint16_t lun) {
  std::array<std::byte, 8> serial;
  store_be64(serial.data(), hash(target_name + "," + std::to_string(lun), 1));
  return to_hex(serial);
}

// SPC-4 section 7.8.6.6.5. The company identifier is in the space for local administration, as we
// have none; the other 100 bits tell units apart.
std::array<std::byte, 16> make_identifier(const std::string& seed) {
  constexpr std::uint64_t kNaa = 6;
  constexpr std::uint64_t kLocalCompany = 0x026f69;
  std::array<std::byte, 16> identifier;
  store_be64(&identifier[0], kNaa << 60 | kLocalCompany << 36 | hash(seed, 2) >> 28);
  store_be64(&identifier[8], hash(seed, 3));
  return identifier;
}

constexpr std::size_t kMaxSerial = 64;

LogicalUnitSettings checked(LogicalUnitSettings settings) {
  if (settings.lun > 0x3fff) throw std::invalid_argument("LUN above 16383");
  if (!std::has_single_bit(settings.block_size) || settings.block_size < 512 ||
      settings.block_size > 4096) {
    throw std::invalid_argument("block size is not a power of two from 512 to 4096");
  }
  if (!std::has_single_bit(settings.physical_block_size) ||
      settings.physical_block_size < settings.block_size ||
      settings.physical_block_size > 1U << 20) {
    throw std::invalid_argument(
        "physical block size is not a power of two from block size to 1 MiB");
  }
  return settings;
}

// What is kept of one kind, as `decode` reads it. Throws StartError if it cannot be told.
template <class Decode>
auto load_kept(const KeptState& kept, Decode decode) {
  using State = std::remove_reference_t<decltype(*decode(Bytes()))>;
  const auto content = kept.load();
  if (!content) return State{};
  auto state = decode(*content);
  if (!state) throw kept.makes_no_sense();
  return std::move(*state);
}

PersistentReservations load_reservations(const LogicalUnit& unit) {
  if (!unit.settings().state) return {};
  return load_kept(unit.kept_state(kReservationsKind, kReservationsVersion), decode_saved);
}

IdentifyingInformation load_information(const LogicalUnit& unit) {
  if (!unit.settings().state) return {};
  return load_kept(unit.kept_state(kInformationKind, kInformationVersion), decode_information);
}

}  // namespace

LogicalUnit::LogicalUnit(const std::string& target_name, LogicalUnitSettings settings,
                         std::unique_ptr<Store> store)
    : target_name_(target_name),
      settings_(checked(std::move(settings))),
      store_(std::move(store)),
      reservations_(load_reservations(*this)),
      notes_(load_information(*this)),
      port_groups_(settings_.port_groups) {
  const StoreProperties properties = store_->properties();
  if (properties.size < settings_.block_size) {
    throw std::invalid_argument(properties.description + " has no room for one block");
  }
  if (settings_.block_size % properties.alignment != 0) {
    throw std::invalid_argument(properties.description + " takes only multiples of " +
                                std::to_string(properties.alignment) + " bytes");
  }
  blocks_ = properties.size / settings_.block_size;
  write_protected_ = settings_.read_only || properties.read_only;
  can_discard_ = properties.discard && !write_protected_;
  volatile_cache_ = properties.volatile_cache;
  tells_space_ = properties.tells_space;
  volatile_content_ = properties.volatile_content;
  if (settings_.state && !volatile_content_) {
    atomic_writer_.emplace(*this, atomic_journal(*settings_.state, target_name, settings_.lun),
                           settings_.state->writer());
  }
  flags_ = default_flags();
  serial_ = settings_.serial.empty() ? default_serial(target_name, settings_.lun)
                                     : settings_.serial.substr(0, kMaxSerial);
  identifier_ = make_identifier(serial_);
}

bool LogicalUnit::provides(unsigned access) const {
  if ((access & access::needs_discard) != 0 && !can_discard_) return false;
  return (access & access::needs_atomicity) == 0 || can_write_atomically();
}

std::uint32_t LogicalUnit::default_flags() const {
  return unit_flag::task_aborted_status | (volatile_cache_ ? unit_flag::write_cache : 0);
}

std::uint32_t LogicalUnit::changeable_flags() const {
  return unit_flag::mode_fields & ~(volatile_cache_ ? 0 : unit_flag::write_cache);
}

std::uint32_t LogicalUnit::change_flags(std::uint32_t mask, std::uint32_t values) {
  std::uint32_t before = flags();
  std::uint32_t after;
  do {
    after = (before & ~mask) | (values & mask);
  } while (!flags_.compare_exchange_weak(before, after, std::memory_order_relaxed));
  return before ^ after;
}

unsigned LogicalUnit::threshold_exponent() const {
  constexpr int kMebibyte = 20;
  return static_cast<unsigned>(kMebibyte - std::countr_zero(block_size()));
}

std::optional<Condition> LogicalUnit::unwritable() const {
  if (write_protected_) return Condition::write_protected;
  if (has_flag(unit_flag::software_write_protect)) return Condition::software_write_protected;
  if (has_flag(unit_flag::unfinished_write)) return Condition::internal_target_failure;
  return {};
}

std::optional<Condition> LogicalUnit::exception() const {
  if (has_flag(unit_flag::exceptions_test)) return Condition::exception_test;
  if (space_watch_.is_reached()) return Condition::soft_threshold_reached;
  return {};
}

// A serial number that was configured tells the disk wherever its file is.
KeptState LogicalUnit::kept_state(const std::string& kind, std::uint32_t version) const {
  const std::string disk = settings_.serial.empty() ? store_->properties().description
                                                    : "serial number " + settings_.serial;
  return {settings_.state->unit_file(target_name_, lun(), kind, version), disk};
}

void LogicalUnit::raise_on_others(const Nexus& nexus, Condition condition) {
  post_to_nexuses(nexus.mailbox().get(),
                  [lun = lun(), condition](Nexus& other) { other.raise(lun, condition); });
}

void LogicalUnit::check_capacity() {
  const std::uint64_t blocks = store_->properties().size / block_size();
  if (blocks == 0) return;  // a capacity that could not be told; commands find out
  if (blocks_.exchange(blocks, std::memory_order_relaxed) == blocks) return;
  raise(Condition::capacity_changed);
}

void LogicalUnit::raise(Condition condition) {
  post_to_nexuses(nullptr, [=, lun = lun()](Nexus& nexus) { nexus.raise(lun, condition); });
}

Status LogicalUnit::grow(std::uint64_t size) {
  if (const Status grown = store_->grow(size); !grown) return grown;
  check_capacity();
  return {};
}

void LogicalUnit::change_port_groups(std::span<const PortGroupSettings> groups) {
  bool changed = false;
  for (const PortGroupSettings& settings : groups) {
    PortGroup* group = port_groups_.find(settings.tag);
    if (!group) continue;
    group->prefer(settings.preferred);
    if (group->change(settings.state, PortGroup::ChangedBy::target)) changed = true;
  }
  if (changed) raise(Condition::access_state_changed);
}

void LogicalUnit::serve_through(std::span<const std::uint16_t> tags) {
  bool changed = false;
  for (PortGroup& group : port_groups_.all()) {
    if (group.serve(tags.empty() || std::ranges::find(tags, group.tag()) != tags.end()))
      changed = true;
  }
  if (changed) raise(Condition::access_state_changed);
}

std::shared_ptr<LogicalUnit> make_logical_unit(const std::string& target_name,
                                               LogicalUnitSettings settings,
                                               std::unique_ptr<Store> store) {
  return std::make_shared<LogicalUnit>(target_name, std::move(settings), std::move(store));
}

void check_capacity(LogicalUnit& unit) {
  unit.check_capacity();
}

Status grow(LogicalUnit& unit, std::uint64_t size) {
  return unit.grow(size);
}

std::shared_ptr<NexusList> make_nexus_list() {
  return std::make_shared<NexusList>();
}

void change_devices(NexusList& nexuses, const DeviceChoice& choose) {
  nexuses.post(nullptr, [choose](Nexus& nexus) {
    if (auto device = choose(nexus.identity().initiator_name))
      nexus.change_device(std::move(device));
  });
}

void change_port_groups(LogicalUnit& unit, std::span<const PortGroupSettings> groups) {
  unit.change_port_groups(groups);
}

void serve_through(LogicalUnit& unit, std::span<const std::uint16_t> tags) {
  unit.serve_through(tags);
}

}  // namespace openiser::target
