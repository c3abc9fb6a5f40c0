// The receiving side of MPA (RFC 5044 section 6): one staging buffer filled by as few reads as
// possible, FPDUs taken from it in place. The payload of a large FPDU that is not there yet is
// received straight into its final place instead, with the CRC computed as it comes; its headers
// have been checked by then, so nothing outside the memory they name is written even if the CRC
// turns out wrong. With markers everything goes through the staging buffer.
//
// What is guessed (guess.h) comes into its place before its header is looked at: further FPDUs of
// an RDMA Read Response, and small RDMA Writes of whole regions, which come in a rhythm.
//
// A Send that is whole in the staging buffer is lent from there to whoever it is for. What has not
// come back when the buffer is to be used again makes a second one take its place; until it is back
// Sends are copied, so there are never more than two.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "rdmap/core/ddp_placement.h"
#include "rdmap/core/guess.h"
#include "rdmap/core/read_queue.h"
#include "rdmap/core/staging.h"
#include "rdmap/core/write_rhythm.h"
#include "rdmap/wire/fpdu.h"

namespace openiser::rdmap {

// The start of a ULPDU that was refused, for the Terminate that reports it.
struct RefusedUlpdu {
  std::array<std::byte, kReadRequestUlpduSize> start{};
  std::size_t start_size = 0;
  std::size_t ulpdu_size = 0;

  static RefusedUlpdu of(Bytes start, std::size_t ulpdu_size);
};

class FpduReceiver {
 public:
  explicit FpduReceiver(DdpPlacement& placement);

  // Where the next bytes go: at least one place, never empty.
  std::size_t space(std::span<MutableBytes> into);
  // The first `n` bytes of that are there.
  void filled(std::size_t n);

  // Before Full Operation: what has come, and how much of it is taken.
  Bytes staged() const { return staging_->bytes().subspan(begin_, end_ - begin_); }
  void drop(std::size_t n) { begin_ += n; }
  // Full Operation begins with the first byte staged.
  void start(bool crc, bool markers) { decoder_ = FpduDecoder(crc, markers); }

  // Places and delivers what is there. An error ends reception: call discard().
  Status process();
  // What process() failed on; empty for errors of MPA, which name no ULPDU.
  const RefusedUlpdu& refused() const { return refused_; }

  // At least one FPDU had a good CRC and good markers (RFC 5044 section 7.1.2).
  bool validated_one() const { return validated_one_; }
  bool between_fpdus() const { return !direct_ && begin_ == end_; }
  // Nothing is written into the region of `stag` any more: what still comes of an RDMA Write to it
  // is thrown away, and then refused.
  void stop_placing(Stag stag);
  // From now on everything received is thrown away.
  void discard();

 private:
  // An FPDU whose payload is received into its place.
  struct Direct {
    Segment segment;
    FpduCheck check;
    RefusedUlpdu ulpdu;
    std::size_t placed = 0;
    bool revoked = false;
    std::size_t missing() const { return segment.length - placed; }
  };

  std::optional<Bytes> whole_fpdu() const;
  Status take_fpdu(Bytes fpdu);
  Status handle(Bytes ulpdu);
  void begin_placing(const Segment& segment, std::size_t ulpdu_size);
  bool may_lend(const Segment& segment) const;
  bool begin_direct();
  std::size_t direct_space(std::span<MutableBytes> into);
  std::size_t staged_space(std::span<MutableBytes> into);
  std::size_t guess_response(std::span<MutableBytes> into, std::size_t& staged);
  std::size_t guess_writes(std::span<MutableBytes> into, std::size_t& staged, std::size_t at,
                           std::size_t& room);
  void start_direct(const Segment& segment, Bytes header, Bytes payload);
  std::size_t guess_length(std::size_t last, std::size_t left) const;
  void take_guess();
  void undo_guess();
  bool direct_complete() const;
  Status finish_direct();
  Status refuse(ErrorCode error, Bytes start, std::size_t ulpdu_size);
  std::size_t staged_room() const;
  void note_read(std::size_t n);
  void compact();

  DdpPlacement& placement_;
  FpduDecoder decoder_{true, false};
  Staging::Pointer staging_;
  Staging::Pointer spare_;  // none until it is needed
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wanted_ = 0;  // by a read that nothing large is placed by; else 0
  int full_reads_ = 0;      // of these, in a row; below zero, so many more are wanted
  std::vector<std::byte> scratch_;
  std::optional<Direct> direct_;
  Guess guess_;
  WriteRhythm rhythm_;
  bool equal_segments_ = true;  // what responses are guessed to come in; else full ones
  RefusedUlpdu refused_;
  bool validated_one_ = false;
  bool discarding_ = false;
};

}  // namespace openiser::rdmap
