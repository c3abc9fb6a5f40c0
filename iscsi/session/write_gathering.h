// Puts the data of one write together (RFC 7143 sections 4.2.5.2, 11.7 and 11.8): immediate data,
// unsolicited Data-Outs, then what R2Ts fetch. Nothing is copied: unsolicited data stays in the
// buffers it was received into. Knows the rules, not how anything is sent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "iscsi/login/parameters.h"
#include "iscsi/pdu/pdu.h"
#include "iscsi/session/condition.h"
#include "iscsi/session/target_session.h"

namespace openiser::iscsi {

class WriteGathering {
 public:
  // A new command. `parameters` outlives the command. `final`: its F bit, no Data-Out follows.
  void begin(const Parameters& parameters, std::uint32_t expected_length, bool final);

  // Unsolicited data; what is wrong with it, if anything. After a fault call abandon().
  std::optional<Condition> add_immediate(Buffer data);
  std::optional<Condition> add_data_out(const DataOut& header, Buffer data);
  // A Data-Out with the F bit is still due.
  bool unsolicited_open() const { return open_; }

  // The first `length` bytes are wanted, at most the expected length. Once.
  void want(std::uint32_t length);

  // How much memory R2Ts need now: 0 if none, or if they have it.
  std::size_t memory_needed() const;
  // Takes all of it or, if the pool has not enough, nothing: a task that held some while it waits
  // for more could stop all others.
  bool take_memory(BufferPool& pool);

  struct Request {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    Buffer sink;
  };
  // The next R2T that may be sent now.
  std::optional<Request> next_request(std::uint32_t r2t_sn);
  // The R2T is done. `data` is empty if it failed: then the data never becomes complete.
  void fulfilled(std::uint32_t r2t_sn, Buffer data);
  std::uint32_t outstanding() const { return outstanding_; }

  // All that is wanted is there; then take() it. `data` is empty, and its memory is used again.
  bool complete() const;
  void take(DataPieces& data);

  // The data is not wanted any more. Unsolicited data is still followed to its end.
  void abandon();

 private:
  // One R2T, from plan to data.
  struct Part {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t r2t_sn = 0;
    Buffer buffer;
    bool arrived = false;
  };

  std::optional<Condition> add_unsolicited(Buffer data);
  std::optional<Condition> close_unsolicited();

  const Parameters* parameters_ = nullptr;
  std::uint32_t expected_ = 0;
  std::uint32_t wanted_ = 0;
  std::uint32_t unsolicited_ = 0;  // bytes received without being asked for
  std::uint32_t unsolicited_limit_ = 0;
  std::uint32_t next_data_sn_ = 0;
  bool open_ = false;
  bool want_known_ = false;
  bool abandoned_ = false;
  bool taken_ = false;
  bool has_memory_ = false;
  DataPieces pieces_;
  std::vector<Part> parts_;
  std::size_t next_part_ = 0;    // the next to be requested
  std::size_t oldest_part_ = 0;  // those before it have arrived
  std::uint32_t outstanding_ = 0;
};

}  // namespace openiser::iscsi
