// From PDUs to a byte stream (RFC 7143 section 11.2): sets the length fields, adds digests and
// padding, and keeps the leases on what is queued by reference until it is sent.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "base/buffer.h"
#include "base/output_queue.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

class PduWriter {
 public:
  // A Data-In run whose lease is to be given back (put_data with `notify`).
  struct Notice {
    bool wanted = false;
    std::uint32_t initiator_task_tag = 0;
    std::uint32_t sequence_number = 0;
    bool aborted = false;
  };
  struct Lease {
    std::uint64_t end = 0;  // position in the stream up to which it is needed
    Buffer buffer;
    Notice notice;
  };

  PduWriter(bool header_digest, bool data_digest)
      : header_digest_(header_digest), data_digest_(data_digest) {}

  // True if the queue refers to `data` now, which then stays valid and unchanged until sent: see
  // keep() and OutputQueue::detach(). A short data segment is copied.
  bool write(Bhs bhs, Bytes ahs, Bytes data);
  // Keeps `buffer` until all that is queued now is sent.
  void keep(Buffer buffer, Notice notice);
  void keep(Buffer buffer) { keep(std::move(buffer), Notice()); }
  // The oldest lease that is no longer needed; nothing if there is none.
  bool take_sent(Lease& lease);
  // Any lease, oldest first; for the end of the connection, after output().clear().
  bool take_any(Lease& lease);
  // Runs of this task under way are to be reported as aborted.
  void mark_aborted(std::uint32_t initiator_task_tag);

  OutputQueue& output() { return output_; }
  const OutputQueue& output() const { return output_; }

 private:
  void write_header(const Bhs& bhs, Bytes ahs);
  bool write_data(Bytes data);

  const bool header_digest_;
  const bool data_digest_;
  OutputQueue output_;
  std::deque<Lease> leases_;
};

}  // namespace openiser::iscsi
