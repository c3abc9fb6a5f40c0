// The sending side of RDMAP, DDP and MPA: turns works and owed Read Responses into FPDUs. Works and
// responses take turns, a message each. Payload is sent from where it lies; only so much is framed
// ahead that a gathered write is never short of bytes, so a huge message neither hogs memory nor
// keeps a region it has not reached yet.
#pragma once

#include <cstdint>
#include <optional>

#include "base/output_queue.h"
#include "rdmap/core/exposed_memory.h"
#include "rdmap/core/mpa_start_up.h"
#include "rdmap/core/read_queue.h"
#include "rdmap/core/work_queue.h"
#include "rdmap/wire/fpdu.h"

namespace openiser::rdmap {

class Transmitter {
 public:
  Transmitter(OutputQueue& output, WorkQueue& works, ReadRequester& requester,
              ReadResponder& responder, ExposedMemory& memory)
      : output_(output),
        works_(works),
        requester_(requester),
        responder_(responder),
        memory_(memory) {}

  // Full Operation begins. Sends the RTR that was agreed on, as the first FPDU.
  void start(const MpaSettled& settled, std::uint32_t emss, std::uint32_t max_send);

  // Frames what may go now. Error: the source of the oldest owed response is no longer open to the
  // peer; then only a Terminate may follow.
  Status pump();
  // The output's front has been sent: finishes works.
  void sent();
  // Every flushed work is framed, and so is every owed response.
  bool idle() { return !message_ && responder_.idle() && works_.next() == nullptr; }
  // Frames an untagged ULPDU as it is, a Terminate; small, so it is copied.
  void append(Bytes ulpdu) {
    encoder_->append(output_, ulpdu.first(kUntaggedHeaderSize), ulpdu.subspan(kUntaggedHeaderSize));
  }

 private:
  // What is being framed: `work`, or the oldest owed response.
  struct Message {
    Work* work;
    std::size_t length;
    std::size_t position = 0;
  };

  void send_rtr(Rtr kind);
  bool begin_message();
  bool begin_work();
  void begin_response();
  void request_read(Work* work);
  // The next segment of message_.
  Status frame_segment();
  void frame_write(std::size_t length, bool last);
  void frame_send(std::size_t length, bool last);
  Status frame_response(std::size_t length, bool last);
  void end_message();
  void refuse_work(Work& work, ErrorCode why);

  OutputQueue& output_;
  WorkQueue& works_;
  ReadRequester& requester_;
  ReadResponder& responder_;
  ExposedMemory& memory_;

  std::optional<FpduEncoder> encoder_;
  StreamVersion version_ = 1;
  std::uint32_t mulpdu_ = 0;
  std::uint32_t max_send_ = 0;
  // Of the next Send and the next Read Request (RFC 5041 section 5.3).
  std::uint32_t send_msn_ = 1;
  std::uint32_t read_msn_ = 1;
  std::optional<Message> message_;
  bool response_last_ = false;
  // Sends and Writes framed whole, with the place in the output where they end.
  struct Framed {
    Work* work;
    std::uint64_t end;
  };
  Fifo<Framed> framed_;
};

}  // namespace openiser::rdmap
