// The Terminate that reports an error of ours: a whole ULPDU (RFC 5040 sections 4.8 and 7.1).
#pragma once

#include <array>

#include "rdmap/core/fpdu_receiver.h"
#include "rdmap/errors.h"
#include "rdmap/wire/terminate.h"

namespace openiser::rdmap {

class TerminateMessage {
 public:
  // `row` is what happened; `refused` is the ULPDU it happened to, empty if it was none.
  TerminateMessage(const TerminateRow& row, const RefusedUlpdu& refused, StreamVersion version);
  Bytes ulpdu() const { return Bytes(space_).first(size_); }

 private:
  std::array<std::byte, kUntaggedHeaderSize + kMaxTerminateSize> space_;
  std::size_t size_;
};

}  // namespace openiser::rdmap
