#include "iscsi/session/task_management.h"

#include <algorithm>

#include "iscsi/pdu/lun.h"

namespace openiser::iscsi {
namespace {

using Function = TaskManagementFunction;
using Answer = TaskManagementAnswer;

enum class Scope : std::uint8_t { none, task, lun, session };

struct Row {
  Function function;
  Scope aborts;     // whose tasks it ends
  bool asks_scsi;   // the SCSI layer has a part in it
  bool needs_7144;  // RFC 7144 section 6.3: only with iSCSIProtocolLevel=2
  // Answered like this without more ado.
  std::optional<Answer> refused;
};

constexpr Row kFunctions[] = {
    {Function::abort_task, Scope::task, false, false, {}},
    {Function::abort_task_set, Scope::lun, true, false, {}},
    {Function::clear_aca, Scope::none, false, false, Answer::not_supported},
    {Function::clear_task_set, Scope::lun, true, false, {}},
    {Function::logical_unit_reset, Scope::lun, true, false, {}},
    {Function::target_warm_reset, Scope::session, true, false, {}},
    {Function::target_cold_reset, Scope::session, true, false, {}},
    // Section 7.2.2: ErrorRecoveryLevel 2 is not offered.
    {Function::task_reassign, Scope::none, false, false, Answer::reassign_not_supported},
    {Function::query_task, Scope::none, false, true, {}},
    {Function::query_task_set, Scope::none, false, true, {}},
    {Function::i_t_nexus_reset, Scope::session, true, true, {}},
    {Function::query_async_event, Scope::none, true, true, {}},
};

const Row* row_of(std::uint8_t function) {
  const auto* row = std::ranges::find(kFunctions, static_cast<Function>(function), &Row::function);
  return row == std::end(kFunctions) ? nullptr : row;
}

// Section 11.5.1: commands before the request, and immediate ones, which have no place of their
// own.
bool comes_before(const ScsiTask& task, const TaskManagementRequest& request) {
  return task.immediate() || serial_less(task.cmd_sn(), request.cmd_sn);
}

}  // namespace

TaskManagement::TaskManagement(TaskManagementHost& host)
    : host_(host), self_(std::make_shared<TaskManagement*>(this)) {}

bool TaskManagement::is_open(std::uint32_t initiator_task_tag) const {
  return std::ranges::any_of(operations_, [&](const Operation& operation) {
    return operation.request.initiator_task_tag == initiator_task_tag;
  });
}

void TaskManagement::start(const TaskManagementRequest& request) {
  const Row* row = row_of(request.function);
  if (!row || (row->needs_7144 && host_.parameters().protocol_level < 2))
    return host_.management_done(request, Answer::not_supported);
  if (row->refused) return host_.management_done(request, *row->refused);

  Operation& operation = operations_.emplace_back();
  operation.request = request;
  operation.id = next_id_++;
  CommandWindow& window = host_.window();
  // Section 4.2.3.3 b): a target-scoped function need not wait, what is missing is plugged.
  if (row->aborts == Scope::session && !window.all_before(request.cmd_sn))
    window.plug_before(request.cmd_sn);
  operation.waits_for_commands = row->aborts == Scope::lun && !window.all_before(request.cmd_sn);
  if (!operation.waits_for_commands) carry_out(operation);
}

void TaskManagement::carry_out(Operation& operation) {
  const TaskManagementRequest& request = operation.request;
  const Row& row = *row_of(request.function);
  switch (row.function) {
    case Function::abort_task:
      return abort_task(operation);
    case Function::query_task:
      operation.answer = query_task(request);
      return;
    case Function::query_task_set:
      operation.answer = query_task_set(request);
      return;
    default:
      if (row.aborts != Scope::none) abort_set(operation);
      if (row.asks_scsi) ask_handler(operation);
  }
}

void TaskManagement::abort_task(Operation& operation) {
  const TaskManagementRequest& request = operation.request;
  const std::uint32_t tag = request.referenced_task_tag;
  // Section 11.5.1: task management is not itself managed.
  if (is_open(tag)) {
    operation.answer = Answer::rejected;
    return;
  }
  ScsiTask* task = host_.find_task(tag);
  if (!task || !same_lun(task->lun, request.lun)) {
    operation.answer = host_.abort_text(tag) ? Answer::complete : task_not_found(request);
    return;
  }
  operation.answer = Answer::complete;
  operation.tasks.push_back(task->serial());
  task->abort();
}

// Section 11.6.1 b) and c)
Answer TaskManagement::task_not_found(const TaskManagementRequest& request) {
  const std::uint32_t ref = request.ref_cmd_sn;
  if (!host_.window().contains(ref) || !serial_less(ref, request.cmd_sn)) return Answer::no_task;
  host_.window().plug(ref);
  return Answer::complete;
}

void TaskManagement::abort_set(Operation& operation) {
  const TaskManagementRequest& request = operation.request;
  const bool one_lun = row_of(request.function)->aborts == Scope::lun;
  const auto tasks = host_.select_tasks([&](const ScsiTask& task) {
    return comes_before(task, request) && (!one_lun || same_lun(task.lun, request.lun));
  });
  for (const ScsiTask* task : tasks) operation.tasks.push_back(task->serial());
  for (ScsiTask* task : tasks) task->abort();
}

void TaskManagement::ask_handler(Operation& operation) {
  const auto done = [weak = std::weak_ptr(self_), id = operation.id](Answer answer) {
    if (const auto self = weak.lock()) (*self)->handler_answered(id, answer);
  };
  host_.handler().manage(static_cast<Function>(operation.request.function), operation.request.lun,
                         done);
}

void TaskManagement::handler_answered(std::uint64_t id, Answer answer) {
  host_.enter();
  const auto operation = std::ranges::find(operations_, id, &Operation::id);
  if (operation != operations_.end()) operation->answer = answer;
  host_.leave();
}

// RFC 7144 section 6.4.2
Answer TaskManagement::query_task(const TaskManagementRequest& request) {
  if (is_open(request.referenced_task_tag)) return Answer::rejected;
  const ScsiTask* task = host_.find_task(request.referenced_task_tag);
  return task && same_lun(task->lun, request.lun) ? Answer::function_succeeded : Answer::complete;
}

Answer TaskManagement::query_task_set(const TaskManagementRequest& request) {
  const auto tasks =
      host_.select_tasks([&](const ScsiTask& task) { return same_lun(task.lun, request.lun); });
  return tasks.empty() ? Answer::complete : Answer::function_succeeded;
}

void TaskManagement::progress() {
  for (auto at = operations_.begin(); at != operations_.end();) {
    if (at->waits_for_commands && host_.window().all_before(at->request.cmd_sn)) {
      at->waits_for_commands = false;
      carry_out(*at);
    }
    if (!at->answer || !at->tasks.empty()) {
      ++at;
      continue;
    }
    const Operation done = std::move(*at);
    at = operations_.erase(at);
    host_.management_done(done.request, *done.answer);
    if (operations_.empty()) return;  // the answer may have ended the session
  }
}

void TaskManagement::task_ended(std::uint64_t serial) {
  for (Operation& operation : operations_) std::erase(operation.tasks, serial);
}

void TaskManagement::clear() {
  operations_.clear();
}

}  // namespace openiser::iscsi
