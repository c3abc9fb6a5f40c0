// One SCSI task at the target, from its command to its response: the data of its write, the
// numbering of its reads, and how it ends. Objects are recycled; the session owns them.
//
//            finish()                                      write data at rest
//  EXECUTING ---------> (answer kept while unsolicited ----------------------> response sent
//      |                 data or an R2T is under way)
//      | fail(): iSCSI itself ends the task
//      |---------> handler stops ---> data at rest ---> response with CHECK CONDITION
//      | abort(): task management, Logout, end of the session
//      +---------> handler stops ---> R2Ts come back ---> no response
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "iscsi/pdu/ahs.h"
#include "iscsi/session/command_window.h"
#include "iscsi/session/condition.h"
#include "iscsi/session/target_sender.h"
#include "iscsi/session/target_session.h"
#include "iscsi/session/write_gathering.h"
#include "iscsi/tag_table.h"

namespace openiser::iscsi {

class ScsiTask;

// What tasks share and tell their session.
class ScsiTaskHost {
 public:
  // Around every call that comes from the handler: the session does what is due when the outermost
  // is left.
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual TaskHandler& handler() = 0;
  virtual const Parameters& parameters() const = 0;
  virtual TargetSender& sender() = 0;
  // Of the session; with its limit.
  virtual Buffer take_buffer(std::size_t size) = 0;
  // The write data is complete: deliver() is due.
  virtual void task_ready(ScsiTask& task) = 0;
  // proceed() wants try_memory() to be called, in turn.
  virtual void task_needs_memory(ScsiTask& task) = 0;
  // The task is about to send its last PDU: its tag and its place in the window are free.
  virtual void task_ending(ScsiTask& task) = 0;
  // The task has ended; recycle() is due.
  virtual void task_ended(ScsiTask& task) = 0;
  // So much read data has been handed over; a lease of `lease` bytes will come back.
  virtual void sending(std::size_t bytes, std::size_t lease) = 0;
  // So much write data has been, or will be, asked for; and is there, or no longer wanted.
  virtual void fetch_begins(std::size_t bytes) = 0;
  virtual void fetch_ends(std::size_t bytes) = 0;

 protected:
  ~ScsiTaskHost() = default;
};

class ScsiTask final : public TargetTask, public TagTable<ScsiTask>::Hook {
 public:
  explicit ScsiTask(ScsiTaskHost& host) : host_(host) {}

  // A new life. `serial` is unique in the session. `ahs` has been checked against the command.
  void begin(const ScsiCommand& command, const CommandAhs& ahs, std::uint64_t serial);
  // Takes the immediate data, then hands the task to the handler or fails it.
  void execute(Buffer immediate_data);
  void data_out(const DataOut& header, Buffer data);
  // An R2T is done.
  void data_arrived(std::uint32_t r2t_sn, ErrorCode status, Buffer data);
  // False: the pool has not enough now.
  bool try_memory(BufferPool& pool, std::size_t limit);
  // Hands the write data over.
  void deliver();
  // Ends the task without a response as soon as the handler lets go of it.
  void abort();

  bool immediate() const { return immediate_; }
  std::uint32_t cmd_sn() const { return cmd_sn_; }
  std::uint64_t serial() const { return serial_; }
  bool aborted() const { return aborted_; }
  std::size_t bytes_written() const { return bytes_written_; }
  // Data-Outs for it may still come after it has been aborted.
  bool data_may_follow() const { return write && (write_.unsolicited_open() || r2t_sent_); }

  // --- TargetTask ---
  void send_data(Buffer data, std::uint32_t offset) override;
  void receive_data(std::uint32_t length) override;
  void finish(std::uint8_t status, Bytes sense, std::uint64_t transfer_length) override;
  void release() override;
  Buffer take_buffer(std::size_t size) override { return host_.take_buffer(size); }

 private:
  struct Answer {
    std::uint8_t status = 0;
    std::uint64_t transfer_length = 0;
    Buffer data;
  };
  // Inside of it the session is entered.
  class Inside;

  bool stopped() const { return aborted_ || condition_.has_value(); }
  void fail(Condition condition);
  void proceed();
  void request_data();
  void end_fetch();
  void end();
  void respond();
  void set_residuals(ScsiResponse& response, std::uint64_t transfer_length) const;
  void put(Buffer data, std::uint32_t offset, bool notify);
  std::uint32_t read_length() const;

  ScsiTaskHost& host_;
  bool immediate_ = false;
  std::uint32_t cmd_sn_ = 0;
  std::uint64_t serial_ = 0;
  std::array<std::byte, 16> short_cdb_{};
  std::vector<std::byte> long_cdb_;

  WriteGathering write_;
  DataPieces data_;                   // while it is handed over
  std::uint32_t receive_length_ = 0;  // as the handler said it
  bool receiving_ = false;
  bool memory_asked_ = false;
  bool ready_ = false;
  bool r2t_sent_ = false;
  std::size_t fetching_ = 0;  // bytes; as the host was told
  std::size_t bytes_written_ = 0;
  // DataSN and R2TSN share one sequence (section 4.2.2.4).
  std::uint32_t next_data_sn_ = 0;
  std::uint32_t data_in_pdus_ = 0;

  bool with_handler_ = false;
  bool aborted_ = false;
  bool ended_ = false;
  std::optional<Condition> condition_;
  Answer answer_;
};

}  // namespace openiser::iscsi
