#include "target/scsi/vpd.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

using PageWriter = void (*)(ByteWriter&, const Command&);
struct Page {
  std::uint8_t code;
  PageWriter write;  // what follows the four bytes of header
};

void supported_pages(ByteWriter& out, const Command& command);

void unit_serial_number(ByteWriter& out, const Command& command) {
  const std::string& serial = command.unit()->serial();
  write_ascii(out, serial, serial.size());
}

// SPC-4 section 7.8.6.1. Association and type as in byte 1; PROTOCOL IDENTIFIER iSCSI where a port
// or device is meant.
constexpr std::uint8_t kUnit = 0x00;
constexpr std::uint8_t kPort = 0x90;
constexpr std::uint8_t kDevice = 0xa0;
constexpr std::uint8_t kIscsi = 0x50;
constexpr std::uint8_t kBinary = 1;
constexpr std::uint8_t kAscii = 2;
constexpr std::uint8_t kUtf8 = 3;

void designator_header(ByteWriter& out, std::uint8_t code_set, std::uint8_t type,
                       std::size_t length) {
  out.u8((type & 0x80) != 0 ? kIscsi | code_set : code_set);
  out.u8(type);
  out.u8(0);
  out.u8(static_cast<std::uint8_t>(length));
}

// NUL-terminated and padded to a multiple of four (SPC-4 section 7.8.6.11).
void name_string(ByteWriter& out, std::uint8_t association, std::string_view name) {
  name = name.substr(0, 247);
  const std::size_t length = name.size() + 1 + pad4(name.size() + 1);
  designator_header(out, kUtf8, association | 8, length);
  out.bytes(as_bytes(name));
  out.zeros(length - name.size());
}

void device_identification(ByteWriter& out, const Command& command) {
  const LogicalUnit& unit = *command.unit();
  const NexusIdentity& identity = command.nexus().identity();
  const std::vector<std::byte> t10 = t10_designator(unit);
  designator_header(out, kAscii, kUnit | 1, t10.size());
  out.bytes(t10);
  designator_header(out, kBinary, kUnit | 3, 16);  // NAA
  out.bytes(unit.identifier());
  designator_header(out, kBinary, kPort | 4, 4);  // relative target port
  out.be32(identity.relative_target_port);
  designator_header(out, kBinary, kPort | 5, 4);  // target port group
  out.be32(identity.relative_target_port);
  name_string(out, kPort, identity.target_port);
  name_string(out, kDevice, command.nexus().device().name);
}

// SPC-4 section 7.8.7
void extended_inquiry(ByteWriter& out, const Command& command) {
  out.u8(0);
  out.u8(0x07);                                         // HEADSUP, ORDSUP, SIMPSUP
  out.u8(command.unit()->volatile_cache() ? 0x01 : 0);  // V_SUP
  out.zeros(57);
}

// SBC-3 section 6.5.3
void block_limits(ByteWriter& out, const Command& command) {
  const LogicalUnit& unit = *command.unit();
  const std::uint32_t block = unit.block_size();
  const auto blocks = [block](std::uint64_t bytes) {
    return static_cast<std::uint32_t>(bytes / block);
  };
  out.u8(0x01);  // WSNZ: WRITE SAME of 0 blocks is refused
  out.u8(kMaxCompareAndWriteBlocks);
  out.be16(static_cast<std::uint16_t>(unit.physical_blocks()));  // optimal granularity
  out.be32(blocks(kMaxTransfer));
  out.be32(blocks(std::uint64_t{1} << 20));  // optimal transfer length
  out.be32(0);                               // no prefetch
  out.be32(unit.can_discard() ? kMaxUnmapBlocks : 0);
  out.be32(unit.can_discard() ? kMaxUnmapDescriptors : 0);
  out.be32(unit.can_discard() ? unit.physical_blocks() : 0);  // optimal unmap granularity
  out.be32(unit.can_discard() ? 0x80000000 : 0);              // UGAVALID, alignment 0
  out.be64(kMaxWriteSameBlocks);
  // SBC-4 section 6.6.4: an atomic write of up to so many blocks, wherever it begins; no
  // boundaries.
  out.be32(unit.can_write_atomically() ? blocks(kMaxAtomicWrite) : 0);
  out.zeros(16);
}

// SBC-3 section 6.5.2
void block_device_characteristics(ByteWriter& out, const Command& command) {
  out.be16(0x0001);  // medium does not rotate
  out.u8(0);
  // WABEREQ: blocks can be read after a block erase, where there is one.
  out.u8(command.unit()->can_discard() ? 0x40 : 0);
  out.zeros(56);
}

// SBC-3 section 6.5.4
void logical_block_provisioning(ByteWriter& out, const Command& command) {
  const LogicalUnit& unit = *command.unit();
  const bool thin = unit.can_discard();
  out.u8(static_cast<std::uint8_t>(unit.tells_space() ? unit.threshold_exponent() : 0));
  out.u8(thin ? 0xe4 : 0);  // LBPU, LBPWS, LBPWS10, LBPRZ
  out.u8(thin ? 0x02 : 0);  // thin provisioned
  out.u8(0);
}

constexpr std::array kPages{
    Page{0x00, supported_pages},
    Page{0x80, unit_serial_number},
    Page{0x83, device_identification},
    Page{0x86, extended_inquiry},
    Page{0x8f, third_party_copy_page},
    Page{0xb0, block_limits},
    Page{0xb1, block_device_characteristics},
    Page{0xb2, logical_block_provisioning},
};

// Where there is no unit, this page is all there is.
void supported_pages(ByteWriter& out, const Command& command) {
  if (!command.unit()) return out.u8(0x00);
  for (const Page& page : kPages) out.u8(page.code);
}

}  // namespace

std::vector<std::byte> t10_designator(const LogicalUnit& unit) {
  std::vector<std::byte> designator(8 + unit.serial().size());
  ByteWriter out{MutableBytes(designator)};
  write_ascii(out, unit.settings().vendor, 8);
  write_ascii(out, unit.serial(), unit.serial().size());
  return designator;
}

void vital_product_data(Command& command) {
  const std::uint8_t code = command.cdb().u8(2);
  const auto page = std::ranges::find(kPages, code, &Page::code);
  if (page == kPages.end() || (!command.unit() && code != 0x00)) {
    return command.fail(invalid_cdb(2));
  }
  std::array<std::byte, 1024> data;
  ByteWriter body(MutableBytes(data).subspan(4));
  page->write(body, command);
  ISER_ASSERT(body.ok());
  ByteWriter header{MutableBytes(data)};
  header.u8(peripheral_of(command));
  header.u8(code);
  header.be16(static_cast<std::uint16_t>(body.size()));
  command.answer(Bytes(data).first(4 + body.size()), command.cdb().be16(3));
}

}  // namespace openiser::target
