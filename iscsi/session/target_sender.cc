#include "iscsi/session/target_sender.h"

namespace openiser::iscsi {

void TargetSender::send(const Bhs& bhs, Buffer data) {
  if (!open_) return;
  queued_ = true;
  datamover_.send_control({bhs, {}, std::move(data)});
}

void TargetSender::ping(NopIn ping) {
  fill_window(ping);
  ping.stat_sn = stat_sn_;
  send(encode(ping), {});
}

void TargetSender::reject(const Bhs& bhs, RejectReason reason) {
  ++rejects_;
  Reject reject;
  reject.reason = reason;
  respond(reject, Buffer::copy_of(bhs.raw));
}

void TargetSender::put_data(DataIn pdu, Buffer data, bool notify) {
  if (!open_) return;
  fill_window(pdu);
  queued_ = true;
  datamover_.put_data(pdu, std::move(data), notify);
}

void TargetSender::get_data(R2t pdu, Buffer sink) {
  if (!open_) return;
  fill_window(pdu);
  pdu.stat_sn = stat_sn_;  // section 11.8.3
  pdu.target_transfer_tag = fresh_transfer_tag();
  queued_ = true;
  datamover_.get_data(pdu, std::move(sink));
}

void TargetSender::deallocate_task_resources(std::uint32_t initiator_task_tag) {
  if (!open_) return;
  queued_ = true;
  datamover_.deallocate_task_resources(initiator_task_tag);
}

std::uint32_t TargetSender::fresh_transfer_tag() {
  if (next_transfer_tag_ == kReservedTag) next_transfer_tag_ = 0;
  return next_transfer_tag_++;
}

void TargetSender::flush() {
  if (!std::exchange(queued_, false)) return;
  if (open_) datamover_.flush();
}

}  // namespace openiser::iscsi
