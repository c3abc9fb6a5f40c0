// The Datamover interface (RFC 5047 section 8, taken over by RFC 5046 and RFC 7145 section 3): what
// the iSCSI layer asks of whatever moves its data, and what it is told. Two datamovers implement
// it, iser's and the plain byte stream's, and a fake for tests; session and device server code is
// the same over all of them. Names are the RFC's primitives.
//
// Everything happens on the connection's thread. Up-calls are never made from inside a down-call,
// so a client may call down from them freely.
#pragma once

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/result.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {

// Initiator: the memory of a SCSI command, the qualifiers of Send_Control (RFC 7145 section 7.3.1).
// It stays valid until control_notify() of the SCSI Response, deallocate_task_resources(), or the
// end of the connection.
struct TaskMemory {
  // DataDescriptorOut: the whole write buffer, unsolicited data included; empty if there is none.
  Bytes out;
  // DataDescriptorIn: where read data goes. What is left of it by a short read may hold anything.
  MutableBytes in;
  // Of `out`: bytes that go as immediate data, and immediate plus Data-Out bytes that go without
  // being asked for.
  std::uint32_t immediate_size = 0;
  std::uint32_t unsolicited_size = 0;
};

// A Data-In or R2T that is done.
struct DataCompletion {
  enum class Kind : std::uint8_t { put, get };
  Kind kind = Kind::put;
  std::uint32_t initiator_task_tag = 0;
  // The DataSN of the run's first Data-In, or the R2TSN.
  std::uint32_t sequence_number = 0;
  // No error, or what ended the connection.
  ErrorCode status;
  // The lease that went in. For a get its window holds the data.
  Buffer buffer;
};

class DatamoverClient {
 public:
  // Control_Notify: a control-type PDU has come. For a SCSI Response at the initiator all of the
  // task's data is in place, its STags are invalid and its memory is no longer in use.
  virtual void control_notify(ControlPdu pdu) = 0;
  // Data_Completion_Notify, at the target, for put_data and get_data with `notify`.
  virtual void data_completion_notify(DataCompletion completion) = 0;
  // Data_ACK_Notify, at the target: the initiator has everything before DataSN `data_sn`.
  virtual void data_ack_notify(std::uint32_t initiator_task_tag, std::uint32_t data_sn) {
    (void)initiator_task_tag, (void)data_sn;
  }
  // Connection_Terminate_Notify: the connection is gone and the datamover holds no resource of it:
  // all leases have come back. Comes exactly once, also after connection_terminate() (where RFC
  // 5047 would stay silent: an owner that frees what the connection used needs to know when). The
  // last call.
  virtual void connection_terminate_notify(ErrorCode why) = 0;
  // A turn's worth of up-calls is over: the place to flush answers.
  virtual void turn_ended() {}

  // Initiator: what a Data-Out carries as ExpStatSN. (RFC 7143 section 11.7)
  virtual std::uint32_t exp_stat_sn() const { return 0; }
  // Initiator: a Data-In or R2T, which the plain datamover keeps to itself, carried these window
  // fields.
  virtual void window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) {
    (void)exp_cmd_sn, (void)max_cmd_sn;
  }

 protected:
  ~DatamoverClient() = default;
};

class Datamover {
 public:
  virtual ~Datamover() = default;

  virtual void set_client(DatamoverClient* client) = 0;

  // Send_Control: a control-type PDU, with its sequence numbers filled in; length fields are set
  // here. `memory`: for a SCSI Command with data, else null. pdu.data may wrap the task's memory.
  virtual void send_control(ControlPdu pdu, const TaskMemory* memory = nullptr) = 0;

  // Put_Data, at the target: `data` (its window) goes to the initiator's read buffer at
  // pdu.buffer_offset. One call conveys a run of as many Data-In PDUs as data_in_pdus() says; pdu
  // carries the fields of the first, `final` means the run ends a sequence. The lease is dropped,
  // or with `notify` given back, when the data is with the transport.
  virtual void put_data(const DataIn& pdu, Buffer data, bool notify) = 0;
  // How many Data-In PDUs, and so DataSNs, a put_data of `length` bytes takes.
  virtual std::uint32_t data_in_pdus(std::uint32_t length) const = 0;

  // Get_Data, at the target: fetch pdu.desired_data_transfer_length bytes at pdu.buffer_offset of
  // the initiator's write buffer into `sink`, whose window has that size. Always completes with
  // data_completion_notify().
  virtual void get_data(const R2t& pdu, Buffer sink) = 0;

  // Deallocate_Task_Resources: the task has ended without a SCSI Response. Afterwards the datamover
  // neither reads nor writes its memory; gets and puts under way complete with errc::task_aborted.
  virtual void deallocate_task_resources(std::uint32_t initiator_task_tag) = 0;

  // Starts what has been queued.
  virtual void flush() = 0;

  // Connection_Terminate: what is queued is sent first if `why` is no error.
  // connection_terminate_notify() follows.
  virtual void connection_terminate(ErrorCode why = {}) = 0;

  // Notice_Key_Values, in full feature phase: the peer has declared that it takes data segments of
  // so many bytes from now on (RFC 7143 section 13.12). Nothing under iSER, where it may not.
  virtual void notice_max_send_data_segment(std::uint32_t bytes) { (void)bytes; }

  // Largest data segment of a control-type PDU we may send now (declared by the peer), in bytes.
  virtual std::uint32_t max_send_data_segment() const = 0;
};

}  // namespace openiser::iscsi
