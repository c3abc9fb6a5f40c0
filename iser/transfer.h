// The data of a target: Put_Data as RDMA Write, Get_Data as RDMA Read (RFC 7145 sections 7.3.5 and
// 7.3.6). One call is one operation, up to 16 MiB; the provider below cuts it into segments. Reads
// are kept within iSER-ORD (section 8.2); the rest waits in order. A zero-length read behind a
// write tells that the write is in place at the initiator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iscsi/datamover.h"
#include "rdmap/rcap.h"

namespace openiser::iser {

class Transfer {
 public:
  explicit Transfer(rdmap::QueuePair& queue_pair) : queue_pair_(queue_pair) {}

  // iSER-ORD: reads that may be outstanding at one time.
  void set_read_limit(std::uint32_t limit) { read_limit_ = limit; }
  std::uint32_t read_limit() const { return read_limit_; }

  // `pdu.acknowledge`: an Outcome::acknowledged follows with the DataSN after this run.
  void put(const iscsi::DataIn& pdu, Buffer data, bool notify, rdmap::RemoteMemory sink,
           std::uint32_t data_in_pdus);
  void get(const iscsi::R2t& pdu, Buffer sink, rdmap::RemoteMemory source);

  // Everything of this task completes with task_aborted: what waits at once, into `done`; what is
  // under way when it ends, as its memory is in use until then.
  void abort(std::uint32_t initiator_task_tag, std::vector<iscsi::DataCompletion>& done);
  // Reads of aborted tasks that are still under way: the initiator must not yet be told that its
  // memory is free.
  std::uint32_t aborted_reads() const { return aborted_reads_; }

  struct Acknowledged {
    std::uint32_t initiator_task_tag;
    std::uint32_t data_sn;
  };
  struct Outcome {
    std::optional<iscsi::DataCompletion> data;
    std::optional<Acknowledged> acknowledged;
    // Set when a get of a task that lives on has ended.
    std::optional<std::uint32_t> reader;
  };
  // For a completion of kind read or write.
  Outcome completed(rdmap::Completion completion);

  // The connection is gone and every completion has been taken: what waited goes into `done`.
  void abandon(ErrorCode why, std::vector<iscsi::DataCompletion>& done);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  enum class Kind : std::uint8_t { free, put, get, acknowledge };
  struct Operation {
    Kind kind = Kind::free;
    bool notify = false;
    bool aborted = false;
    bool started = false;
    std::uint32_t initiator_task_tag = 0;
    std::uint32_t sequence_number = 0;
    std::uint32_t next = kNone;  // in the list of those waiting, or of those free
    Buffer buffer{};             // of a read that waits
    rdmap::RemoteMemory remote{};
  };

  std::uint32_t add(Operation operation);
  void remove(std::uint32_t index);
  void wait(std::uint32_t index);
  void start_reads();
  static iscsi::DataCompletion completion_of(const Operation& operation, Buffer buffer,
                                             ErrorCode status);

  rdmap::QueuePair& queue_pair_;
  std::uint32_t read_limit_ = 0;
  std::uint32_t reads_ = 0;  // outstanding
  std::uint32_t aborted_reads_ = 0;
  std::vector<Operation> operations_;
  std::uint32_t free_ = kNone;
  std::uint32_t first_waiting_ = kNone;
  std::uint32_t last_waiting_ = kNone;
};

}  // namespace openiser::iser
