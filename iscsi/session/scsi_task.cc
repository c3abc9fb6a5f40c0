#include "iscsi/session/scsi_task.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace openiser::iscsi {

class ScsiTask::Inside {
 public:
  explicit Inside(ScsiTaskHost& host) : host_(host) { host_.enter(); }
  ~Inside() { host_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  ScsiTaskHost& host_;
};

void ScsiTask::begin(const ScsiCommand& command, const CommandAhs& ahs, std::uint64_t serial) {
  lun = command.lun;
  initiator_task_tag = command.initiator_task_tag;
  attribute = command.attribute;
  read = command.read;
  write = command.write;
  expected_data_transfer_length = command.expected_data_transfer_length;
  expected_bidi_read_length = read && write ? ahs.bidirectional_read_length.value_or(0) : 0;
  handler_context = nullptr;

  immediate_ = command.immediate;
  cmd_sn_ = command.cmd_sn;
  serial_ = serial;
  short_cdb_ = command.cdb;
  cdb = short_cdb_;
  if (!ahs.extended_cdb.empty()) {
    long_cdb_.assign(short_cdb_.begin(), short_cdb_.end());
    long_cdb_.insert(long_cdb_.end(), ahs.extended_cdb.begin(), ahs.extended_cdb.end());
    cdb = long_cdb_;
  }

  write_.begin(host_.parameters(), write ? expected_data_transfer_length : 0,
               command.final || !write);
  receive_length_ = next_data_sn_ = data_in_pdus_ = 0;
  fetching_ = bytes_written_ = 0;
  receiving_ = memory_asked_ = ready_ = r2t_sent_ = false;
  with_handler_ = aborted_ = ended_ = false;
  condition_.reset();
  answer_ = {};
}

void ScsiTask::execute(Buffer immediate_data) {
  if (const auto fault = write_.add_immediate(std::move(immediate_data))) return fail(*fault);
  with_handler_ = true;
  host_.handler().execute(*this);
}

void ScsiTask::data_out(const DataOut& header, Buffer data) {
  if (const auto fault = write_.add_data_out(header, std::move(data))) return fail(*fault);
  proceed();
}

void ScsiTask::data_arrived(std::uint32_t r2t_sn, ErrorCode status, Buffer data) {
  write_.fulfilled(r2t_sn, status ? Buffer() : std::move(data));
  proceed();
}

bool ScsiTask::try_memory(BufferPool& pool, std::size_t limit) {
  const std::size_t needed = write_.memory_needed();
  if (needed > limit) {
    fail(Condition::insufficient_resources);
    return true;
  }
  if (needed != 0 && !write_.take_memory(pool)) return false;
  memory_asked_ = false;
  host_.fetch_begins(fetching_ = needed);
  proceed();
  return true;
}

void ScsiTask::deliver() {
  if (!with_handler_ || stopped()) return;
  write_.take(data_);
  for (const Buffer& piece : data_) bytes_written_ += piece.size();
  host_.handler().data_received(*this, data_);
  data_.clear();
}

void ScsiTask::abort() {
  if (aborted_ || ended_) return;
  const bool handler_knows = condition_.has_value();
  aborted_ = true;
  write_.abandon();
  host_.sender().deallocate_task_resources(initiator_task_tag);
  if (with_handler_ && !handler_knows) host_.handler().abort(*this);
  proceed();
}

// Sections 11.4.7.2 and 11.17.1: iSCSI ends the task with CHECK CONDITION.
void ScsiTask::fail(Condition condition) {
  if (stopped()) return proceed();
  condition_ = condition;
  write_.abandon();
  if (with_handler_) host_.handler().abort(*this);
  proceed();
}

// --- the handler's calls ---

void ScsiTask::send_data(Buffer data, std::uint32_t offset) {
  if (!with_handler_ || stopped()) return;
  const std::uint32_t expected = read_length();
  if (offset >= expected || data.empty()) return;
  if (data.size() > expected - offset) data.resize(expected - offset);
  const Inside inside(host_);
  const std::size_t size = data.size();
  // Section 11.7.1: a sequence has at most MaxBurstLength bytes, and ends with F. Where the data as
  // a whole ends is not known here, so each piece ends a sequence. The lease goes with the last
  // part; what is queued before it is sent before it.
  const std::uint32_t burst = host_.parameters().max_burst_length;
  while (data.size() > burst) {
    put(Buffer::wrap(data.bytes().first(burst)), offset, false);
    data.trim_front(burst);
    offset += burst;
  }
  host_.sending(size, data.size());
  put(std::move(data), offset, true);
}

void ScsiTask::receive_data(std::uint32_t length) {
  if (!with_handler_ || stopped()) return;
  ISER_ASSERT(!receiving_);
  const Inside inside(host_);
  receiving_ = true;
  receive_length_ = length;
  write_.want(length);
  proceed();
}

void ScsiTask::finish(std::uint8_t status, Bytes sense, std::uint64_t transfer_length) {
  if (!with_handler_ || stopped()) return;
  const Inside inside(host_);
  with_handler_ = false;
  answer_ = {status, transfer_length, sense_segment(sense)};
  write_.abandon();
  proceed();
}

void ScsiTask::release() {
  if (!with_handler_) return;
  const Inside inside(host_);
  with_handler_ = false;
  if (!stopped()) return abort();
  proceed();
}

// --- the way to the end ---

void ScsiTask::proceed() {
  if (ended_) return;
  if (with_handler_) {
    if (!stopped()) request_data();
    return;
  }
  if (write_.outstanding() > 0) return;
  // Section 11.4.2: no response before the last Data-Out that is due has come.
  if (!aborted_ && write_.unsolicited_open()) return;
  end();
}

void ScsiTask::request_data() {
  if (!receiving_ || ready_) return;
  if (write_.memory_needed() != 0) {
    if (!std::exchange(memory_asked_, true)) host_.task_needs_memory(*this);
    return;
  }
  while (auto request = write_.next_request(next_data_sn_)) {
    R2t pdu;
    pdu.lun = lun;
    pdu.initiator_task_tag = initiator_task_tag;
    pdu.r2t_sn = next_data_sn_++;
    pdu.buffer_offset = request->offset;
    pdu.desired_data_transfer_length = request->length;
    r2t_sent_ = true;
    host_.sender().get_data(pdu, std::move(request->sink));
  }
  if (!write_.complete()) return;
  ready_ = true;
  end_fetch();
  host_.task_ready(*this);
}

void ScsiTask::end_fetch() {
  host_.fetch_ends(std::exchange(fetching_, 0));
}

void ScsiTask::end() {
  ended_ = true;
  end_fetch();
  host_.task_ending(*this);
  if (!aborted_) respond();
  host_.task_ended(*this);
}

void ScsiTask::respond() {
  ScsiResponse response;
  response.initiator_task_tag = initiator_task_tag;
  response.exp_data_sn = data_in_pdus_;
  if (condition_) {
    response.status = kStatusCheckCondition;
    set_residuals(response, 0);
    host_.sender().respond(response, sense_segment(*condition_));
    return;
  }
  response.status = answer_.status;
  set_residuals(response, answer_.transfer_length);
  host_.sender().respond(response, std::move(answer_.data));
}

// Sections 11.4.1 and 11.4.6: a bidirectional command has a residual each way.
void ScsiTask::set_residuals(ScsiResponse& response, std::uint64_t transfer_length) const {
  const bool bidirectional = read && write;
  const std::uint64_t presented = bidirectional ? receive_length_ : transfer_length;
  const Residual residual =
      residual_of(presented, read || write ? expected_data_transfer_length : 0);
  response.overflow = residual.overflow;
  response.underflow = residual.underflow;
  response.residual_count = residual.count;
  if (!bidirectional) return;
  const Residual of_read = residual_of(transfer_length, expected_bidi_read_length);
  response.bidi_overflow = of_read.overflow;
  response.bidi_underflow = of_read.underflow;
  response.bidi_residual_count = of_read.count;
}

void ScsiTask::put(Buffer data, std::uint32_t offset, bool notify) {
  const auto length = static_cast<std::uint32_t>(data.size());
  DataIn pdu;
  pdu.final = true;
  pdu.initiator_task_tag = initiator_task_tag;
  pdu.data_sn = next_data_sn_;
  pdu.buffer_offset = offset;
  const std::uint32_t count = host_.sender().data_in_pdus(length);
  next_data_sn_ += count;
  data_in_pdus_ += count;
  host_.sender().put_data(pdu, std::move(data), notify);
}

std::uint32_t ScsiTask::read_length() const {
  if (!read) return 0;
  return write ? expected_bidi_read_length : expected_data_transfer_length;
}

}  // namespace openiser::iscsi
