#include "iscsi/recorder.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/log.h"

namespace openiser::iscsi {

namespace {

struct OpcodeEvents {
  Opcode opcode;
  const char* sent;
  const char* received;
};
constexpr std::array kOpcodeEvents = {
    OpcodeEvents{Opcode::nop_out, "sent NOP-Out", "received NOP-Out"},
    OpcodeEvents{Opcode::scsi_command, "sent SCSI Command", "received SCSI Command"},
    OpcodeEvents{Opcode::task_management_request, "sent Task Management Function Request",
                 "received Task Management Function Request"},
    OpcodeEvents{Opcode::text_request, "sent Text Request", "received Text Request"},
    OpcodeEvents{Opcode::data_out, "sent Data-Out", "received Data-Out"},
    OpcodeEvents{Opcode::logout_request, "sent Logout Request", "received Logout Request"},
    OpcodeEvents{Opcode::nop_in, "sent NOP-In", "received NOP-In"},
    OpcodeEvents{Opcode::scsi_response, "sent SCSI Response", "received SCSI Response"},
    OpcodeEvents{Opcode::task_management_response, "sent Task Management Function Response",
                 "received Task Management Function Response"},
    OpcodeEvents{Opcode::text_response, "sent Text Response", "received Text Response"},
    OpcodeEvents{Opcode::logout_response, "sent Logout Response", "received Logout Response"},
    OpcodeEvents{Opcode::async_message, "sent Asynchronous Message",
                 "received Asynchronous Message"},
    OpcodeEvents{Opcode::reject, "sent Reject", "received Reject"},
};
constexpr OpcodeEvents kOtherOpcode = {Opcode::reject, "sent a PDU", "received a PDU"};

const OpcodeEvents& events_of(Opcode opcode) {
  const auto* const found = std::ranges::find(kOpcodeEvents, opcode, &OpcodeEvents::opcode);
  return found == kOpcodeEvents.end() ? kOtherOpcode : *found;
}

}  // namespace

void Recorder::log_events(std::string_view who, bool fault) const {
  const log::Level level = fault ? log::Level::warn : log::Level::debug;
  if (!log::enabled(level)) return;
  log::write(level, "connection",
             std::string(who) + ": its last events, each with a task tag and a size or number:\n" +
                 events());
}

void Recorder::set_client(DatamoverClient* client) {
  client_ = client;
  datamover_.set_client(this);
}

void Recorder::send_control(ControlPdu pdu, const TaskMemory* memory) {
  add(events_of(pdu.bhs.opcode()).sent, pdu.bhs.initiator_task_tag(), pdu.data.size());
  datamover_.send_control(std::move(pdu), memory);
}

void Recorder::put_data(const DataIn& pdu, Buffer data, bool notify) {
  add("Put_Data", pdu.initiator_task_tag, data.size());
  datamover_.put_data(pdu, std::move(data), notify);
}

std::uint32_t Recorder::data_in_pdus(std::uint32_t length) const {
  return datamover_.data_in_pdus(length);
}

void Recorder::get_data(const R2t& pdu, Buffer sink) {
  add("Get_Data", pdu.initiator_task_tag, pdu.desired_data_transfer_length);
  datamover_.get_data(pdu, std::move(sink));
}

void Recorder::deallocate_task_resources(std::uint32_t initiator_task_tag) {
  add("Deallocate_Task_Resources", initiator_task_tag);
  datamover_.deallocate_task_resources(initiator_task_tag);
}

void Recorder::connection_terminate(ErrorCode why) {
  add("Connection_Terminate", 0, static_cast<std::uint64_t>(why.value()));
  datamover_.connection_terminate(why);
}

std::uint32_t Recorder::max_send_data_segment() const {
  return datamover_.max_send_data_segment();
}

void Recorder::control_notify(ControlPdu pdu) {
  add(events_of(pdu.bhs.opcode()).received, pdu.bhs.initiator_task_tag(), pdu.data.size());
  client_->control_notify(std::move(pdu));
}

void Recorder::data_completion_notify(DataCompletion completion) {
  add("Data_Completion_Notify", completion.initiator_task_tag, completion.sequence_number);
  client_->data_completion_notify(std::move(completion));
}

void Recorder::data_ack_notify(std::uint32_t initiator_task_tag, std::uint32_t data_sn) {
  add("Data_ACK_Notify", initiator_task_tag, data_sn);
  client_->data_ack_notify(initiator_task_tag, data_sn);
}

void Recorder::connection_terminate_notify(ErrorCode why) {
  add("Connection_Terminate_Notify", 0, static_cast<std::uint64_t>(why.value()));
  client_->connection_terminate_notify(why);
}

void Recorder::window_notify(std::uint32_t exp_cmd_sn, std::uint32_t max_cmd_sn) {
  client_->window_notify(exp_cmd_sn, max_cmd_sn);
}

}  // namespace openiser::iscsi
