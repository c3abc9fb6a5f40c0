#include "initiator/scsi_query.h"

extern "C" {
#include <iscsi/scsi-lowlevel.h>
}

#include <algorithm>
#include <cstdlib>

#include "base/hex.h"
#include "initiator/scsi_error.h"

namespace openiser::initiator {
namespace {

struct FreeTask {
  void operator()(scsi_task* task) const { scsi_free_scsi_task(task); }
};
using Task = std::unique_ptr<scsi_task, FreeTask>;

constexpr int kAllocation = 4096;

// The answer of one command; a unit attention is taken note of by asking again.
ErrorCode run(Session& session, std::uint16_t lun, scsi_task& task) {
  for (int attempt = 0;; ++attempt) {
    std::vector<std::byte> data(static_cast<std::size_t>(std::max(task.expxferlen, 0)));
    Command command;
    command.lun = encode_lun(lun);
    std::memcpy(command.cdb.data(), task.cdb,
                std::min<std::size_t>(task.cdb_size, command.cdb.size()));
    if (task.xfer_dir == SCSI_XFER_READ) command.data_in = data;
    session.execute(command);
    const ErrorCode error =
        command.error ? command.error : scsi_error(command.status, command.sense);
    if (has_sense_key(error, kUnitAttention) && attempt < 8) continue;
    if (error) return error;
    const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(-command.residual, 0));
    const std::size_t got = data.size() - std::min(missing, data.size());
    // libiscsi frees it with the task.
    task.datain.data = static_cast<unsigned char*>(std::malloc(std::max<std::size_t>(got, 1)));
    if (!task.datain.data) throw std::bad_alloc();
    if (got > 0) std::memcpy(task.datain.data, data.data(), got);
    task.datain.size = static_cast<int>(got);
    return {};
  }
}

// The decoded answer, owned by `task`; null when the LUN does not know the command or page.
template <class T>
T* ask(Session& session, std::uint16_t lun, Task& task) {
  if (!task) throw std::bad_alloc();
  const ErrorCode error = run(session, lun, *task);
  if (!error) return static_cast<T*>(scsi_datain_unmarshall(task.get()));
  if (has_sense_key(error, SCSI_SENSE_ILLEGAL_REQUEST)) return nullptr;
  throw SessionError("LUN " + std::to_string(lun) + " of " + session.url().target + ": " +
                     error.message());
}

Task vpd(int page) {
  return Task(scsi_cdb_inquiry(1, page, kAllocation));
}

std::string trimmed(const char* text) {
  std::string s = text ? text : "";
  while (!s.empty() && s.back() == ' ') s.pop_back();
  s.erase(0, std::min(s.find_first_not_of(' '), s.size()));
  return s;
}

void ask_identity(Session& session, std::uint16_t lun, LunDescription& out) {
  Task task(scsi_cdb_inquiry(0, 0, 255));
  const auto* inquiry = ask<scsi_inquiry_standard>(session, lun, task);
  if (!inquiry || inquiry->qualifier != 0) {
    throw SessionError("target " + session.url().target + " has no LUN " + std::to_string(lun) +
                       "; 'iser ls' lists those it has");
  }
  out.device_type = static_cast<std::uint8_t>(inquiry->device_type);
  out.properties.vendor = trimmed(inquiry->vendor_identification);
  out.properties.product = trimmed(inquiry->product_identification);
  out.properties.revision = trimmed(inquiry->product_revision_level);
}

void ask_capacity(Session& session, std::uint16_t lun, BlockDeviceProperties& out) {
  Task task(scsi_cdb_readcapacity16());
  if (const auto* capacity = ask<scsi_readcapacity16>(session, lun, task)) {
    out.blocks = capacity->returned_lba + 1;
    out.block_size = capacity->block_length;
    out.physical_block_size = capacity->block_length << capacity->lbppbe;
  } else {
    Task small(scsi_cdb_readcapacity10(0, 0));
    const auto* capacity10 = ask<scsi_readcapacity10>(session, lun, small);
    if (!capacity10)
      throw SessionError("LUN " + std::to_string(lun) + " does not tell its capacity");
    out.blocks = std::uint64_t{capacity10->lba} + 1;
    out.block_size = capacity10->block_size;
    out.physical_block_size = out.block_size;
  }
  if (out.block_size < 512 || out.block_size > 65536 ||
      (out.block_size & (out.block_size - 1)) != 0) {
    throw SessionError("LUN " + std::to_string(lun) + " has blocks of " +
                       std::to_string(out.block_size) +
                       " bytes; powers of two from 512 to 65536 work");
  }
}

void ask_cache(Session& session, std::uint16_t lun, BlockDeviceProperties& out) {
  Task task(scsi_cdb_modesense6(1, SCSI_MODESENSE_PC_CURRENT, SCSI_MODEPAGE_CACHING, 0, 255));
  auto* modes = ask<scsi_mode_sense>(session, lun, task);
  if (!modes) {
    out.write_cache = true;  // unknown: flush rather than lose data
    return;
  }
  // SBC-3 section 6.4.1: WP and DPOFUA.
  out.read_only = (modes->device_specific_parameter & 0x80) != 0;
  out.force_unit_access = (modes->device_specific_parameter & 0x10) != 0;
  const auto* page = scsi_modesense_get_page(modes, SCSI_MODEPAGE_CACHING, 0);
  out.write_cache = !page || page->caching.wce != 0;
}

void ask_pages(Session& session, std::uint16_t lun, LunDescription& out) {
  Task task = vpd(SCSI_INQUIRY_PAGECODE_SUPPORTED_VPD_PAGES);
  const auto* pages = ask<scsi_inquiry_supported_pages>(session, lun, task);
  if (!pages) return;
  out.vpd_pages.assign(pages->pages, pages->pages + pages->num_pages);
}

bool lists(const LunDescription& out, int page) {
  return std::find(out.vpd_pages.begin(), out.vpd_pages.end(), page) != out.vpd_pages.end();
}

void ask_limits(Session& session, std::uint16_t lun, LunDescription& out) {
  if (lists(out, SCSI_INQUIRY_PAGECODE_BLOCK_LIMITS)) {
    Task task = vpd(SCSI_INQUIRY_PAGECODE_BLOCK_LIMITS);
    if (const auto* limits = ask<scsi_inquiry_block_limits>(session, lun, task)) {
      out.properties.max_transfer_blocks = limits->max_xfer_len;
      out.properties.max_unmap_blocks = limits->max_unmap;
      out.max_unmap_descriptors = limits->max_unmap_bdc;
      out.unmap_granularity = limits->opt_unmap_gran;
      out.max_write_same_blocks = limits->max_ws_len;
    }
  }
  if (lists(out, SCSI_INQUIRY_PAGECODE_BLOCK_DEVICE_CHARACTERISTICS)) {
    Task task = vpd(SCSI_INQUIRY_PAGECODE_BLOCK_DEVICE_CHARACTERISTICS);
    const auto* page = ask<scsi_inquiry_block_device_characteristics>(session, lun, task);
    if (page) out.rotation_rate = static_cast<std::uint16_t>(page->medium_rotation_rate);
  }
  if (!lists(out, SCSI_INQUIRY_PAGECODE_LOGICAL_BLOCK_PROVISIONING)) return;
  Task task = vpd(SCSI_INQUIRY_PAGECODE_LOGICAL_BLOCK_PROVISIONING);
  if (const auto* page = ask<scsi_inquiry_logical_block_provisioning>(session, lun, task)) {
    out.properties.unmap = page->lbpu && out.properties.max_unmap_blocks > 0;
    out.properties.write_same = page->lbpws;
    out.thin = page->provisioning_type == PROVISIONING_TYPE_THIN;
    out.reads_zero_after_unmap = page->lbprz;
  }
}

std::string designator_text(const scsi_inquiry_device_designator& d) {
  const std::string_view raw(d.designator,
                             static_cast<std::size_t>(std::max(d.designator_length, 0)));
  if (d.code_set != SCSI_CODESET_BINARY) return std::string(raw);
  return to_hex(as_bytes(raw));
}

void ask_names(Session& session, std::uint16_t lun, LunDescription& out) {
  if (lists(out, SCSI_INQUIRY_PAGECODE_UNIT_SERIAL_NUMBER)) {
    Task task = vpd(SCSI_INQUIRY_PAGECODE_UNIT_SERIAL_NUMBER);
    const auto* page = ask<scsi_inquiry_unit_serial_number>(session, lun, task);
    if (page) out.properties.serial = trimmed(page->usn);
  }
  if (!lists(out, SCSI_INQUIRY_PAGECODE_DEVICE_IDENTIFICATION)) return;
  Task task = vpd(SCSI_INQUIRY_PAGECODE_DEVICE_IDENTIFICATION);
  const auto* page = ask<scsi_inquiry_device_identification>(session, lun, task);
  for (const auto* d = page ? page->designators : nullptr; d; d = d->next) {
    const bool of_unit = d->association == SCSI_ASSOCIATION_LOGICAL_UNIT;
    if (of_unit && d->designator_type == SCSI_DESIGNATOR_TYPE_NAA)
      out.designator = "naa." + designator_text(*d);
  }
}

}  // namespace

std::vector<std::uint16_t> report_luns(Session& session) {
  Task task(scsi_reportluns_cdb(0, 16384 * 8 + 8));
  const auto* list = ask<scsi_reportluns_list>(session, 0, task);
  if (!list) throw SessionError("target " + session.url().target + " does not report its LUNs");
  std::vector<std::uint16_t> luns;
  for (std::uint32_t i = 0; i < list->num; ++i) {
    // libiscsi gives the first two bytes: peripheral addressing, or flat space with method 01b on
    // top.
    luns.push_back(static_cast<std::uint16_t>(list->luns[i] & 0x3fff));
  }
  std::sort(luns.begin(), luns.end());
  return luns;
}

LunDescription describe_lun(Session& session, std::uint16_t lun) {
  LunDescription out;
  ask_identity(session, lun, out);
  ask_pages(session, lun, out);
  ask_names(session, lun, out);
  if (out.device_type != 0) return out;  // only disks have blocks
  Task ready(scsi_cdb_testunitready());
  ask<void>(session, lun, ready);
  ask_capacity(session, lun, out.properties);
  ask_cache(session, lun, out.properties);
  ask_limits(session, lun, out);
  return out;
}

}  // namespace openiser::initiator
