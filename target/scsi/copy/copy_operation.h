// One EXTENDED COPY under way: which segment, how far, and what has been read and not yet written.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/buffer.h"
#include "target/scsi/copy/copy_list.h"
#include "target/scsi/copy/copy_records.h"
#include "target/scsi/unit.h"

namespace openiser::target {

// Kept by its command, and gone with it.
class CopyOperation {
 public:
  CopyOperation(CopyList copy_list, CopyRecords& all_records)
      : list(std::move(copy_list)), records_(all_records) {}
  // What was aborted leaves no record.
  ~CopyOperation() {
    const bool over = record && record->status != CopyRecord::Status::in_progress;
    if (record && !(over && list.usage == CopyList::Usage::hold)) records_.forget(list.identifier);
  }
  CopyOperation(const CopyOperation&) = delete;
  CopyOperation& operator=(const CopyOperation&) = delete;

  struct Piece {
    Buffer buffer;
    std::uint64_t at;  // from the start of the segment, bytes
  };
  // The segment being copied; units are held as sessions come and go.
  struct Segment {
    std::shared_ptr<LogicalUnit> source;
    std::shared_ptr<LogicalUnit> destination;
    std::uint64_t source_offset = 0;
    std::uint64_t destination_offset = 0;
    std::uint64_t length = 0;
    // From the end to the start, where the destination overlaps the end of the source.
    bool backwards = false;
    std::uint64_t asked_for = 0;  // reads submitted
    std::uint64_t written = 0;
    std::deque<Piece> to_write;
  };

  const CopyList list;
  std::shared_ptr<CopyRecord> record;  // null: nobody can ask for it
  std::size_t number = 0;              // of the segment
  std::unique_ptr<Segment> segment;    // null: between two of them

 private:
  CopyRecords& records_;
};

}  // namespace openiser::target
