#include "iscsi/tcp_datamover/pdu_writer.h"

#include "base/assert.h"
#include "base/crc32c.h"
#include "iscsi/pdu/ahs.h"

namespace openiser::iscsi {
namespace {

// Up to here a copy beside the header is cheaper than a piece of its own.
constexpr std::size_t kCopied = 512;
constexpr std::size_t kDigest = 4;

}  // namespace

bool PduWriter::write(Bhs bhs, Bytes ahs, Bytes data) {
  ISER_ASSERT(ahs.size() <= kMaxTotalAhs && ahs.size() % 4 == 0 && data.size() < 1u << 24);
  bhs.set_total_ahs_length(ahs.size());
  bhs.set_data_segment_length(static_cast<std::uint32_t>(data.size()));
  write_header(bhs, ahs);
  return !data.empty() && write_data(data);
}

void PduWriter::write_header(const Bhs& bhs, Bytes ahs) {
  output_.append_copy(bhs.raw);
  output_.append_copy(ahs);
  if (header_digest_)
    store_le32(output_.append_space(kDigest).data(), Crc32c().update(bhs.raw).update(ahs).value());
}

bool PduWriter::write_data(Bytes data) {
  const bool refer = data.size() > kCopied;
  if (refer) {
    output_.append_reference(data);
  } else {
    output_.append_copy(data);
  }
  const std::size_t pad = pad4(data.size());
  const std::size_t size = pad + (data_digest_ ? kDigest : 0);
  if (size == 0) return refer;
  ByteWriter trailer(output_.append_space(size));
  trailer.zeros(pad);
  if (data_digest_) trailer.le32(Crc32c().update(data).update(trailer.written()).value());
  return refer;
}

void PduWriter::keep(Buffer buffer, Notice notice) {
  leases_.push_back({output_.end(), std::move(buffer), notice});
}

bool PduWriter::take_sent(Lease& lease) {
  if (leases_.empty() || leases_.front().end > output_.sent_total()) return false;
  return take_any(lease);
}

bool PduWriter::take_any(Lease& lease) {
  if (leases_.empty()) return false;
  lease = std::move(leases_.front());
  leases_.pop_front();
  return true;
}

void PduWriter::mark_aborted(std::uint32_t initiator_task_tag) {
  for (Lease& lease : leases_) {
    if (lease.notice.wanted && lease.notice.initiator_task_tag == initiator_task_tag)
      lease.notice.aborted = true;
  }
}

}  // namespace openiser::iscsi
