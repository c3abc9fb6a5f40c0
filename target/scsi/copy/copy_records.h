// What a nexus knows of its copies, under way and over, by their list identifiers: for RECEIVE COPY
// RESULTS (SPC-4 section 5.17.4.3).
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "target/scsi/sense.h"

namespace openiser::target {

struct CopyRecord {
  // COPY MANAGER STATUS
  enum class Status : std::uint8_t { in_progress = 0, good = 1, failed = 2 };
  Status status = Status::in_progress;
  std::uint16_t segments = 0;  // done
  std::uint64_t bytes = 0;     // written
  EncodedSense sense;          // of one that has failed
};

// At most one for each of the 256 identifiers.
class CopyRecords {
 public:
  // A new one in place of one that is over; null if that copy is still under way.
  std::shared_ptr<CopyRecord> begin(std::uint8_t identifier) {
    auto& record = records_[identifier];
    if (record && record->status == CopyRecord::Status::in_progress) return nullptr;
    record = std::make_shared<CopyRecord>();
    return record;
  }
  // Null if there is none.
  const CopyRecord* find(std::uint8_t identifier) const {
    const auto found = records_.find(identifier);
    return found == records_.end() ? nullptr : found->second.get();
  }
  void forget(std::uint8_t identifier) { records_.erase(identifier); }

 private:
  std::map<std::uint8_t, std::shared_ptr<CopyRecord>> records_;
};

}  // namespace openiser::target
