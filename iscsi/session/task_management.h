// Task management functions under way at the target (RFC 7143 sections 4.2.3, 11.5 and 11.6, RFC
// 7144 section 6). A function waits for the commands that CmdSN puts before it, aborts what it
// covers, asks the SCSI layer, and is answered when every task it covers has been let go of.
//
// Not waited for are Data-Outs of affected tasks (section 4.2.3.3 a): open-iscsi by default stops
// sending them, and the datamover ends transfers by itself. Late ones are dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "iscsi/session/scsi_task.h"

namespace openiser::iscsi {

class TaskManagementHost {
 public:
  virtual void enter() = 0;
  virtual void leave() = 0;
  virtual const Parameters& parameters() const = 0;
  virtual TaskHandler& handler() = 0;
  virtual CommandWindow& window() = 0;
  virtual ScsiTask* find_task(std::uint32_t initiator_task_tag) = 0;
  // Open tasks that `covered` says yes to.
  virtual std::vector<ScsiTask*> select_tasks(
      const std::function<bool(const ScsiTask&)>& covered) = 0;
  // Aborts an open request that is no SCSI task. False: there is none of that tag.
  virtual bool abort_text(std::uint32_t initiator_task_tag) = 0;
  // The function has ended: answer it.
  virtual void management_done(const TaskManagementRequest& request,
                               TaskManagementAnswer answer) = 0;

 protected:
  ~TaskManagementHost() = default;
};

class TaskManagement {
 public:
  explicit TaskManagement(TaskManagementHost& host);

  void start(const TaskManagementRequest& request);
  bool is_open(std::uint32_t initiator_task_tag) const;
  std::size_t open() const { return operations_.size(); }

  // Commands have come or tasks have ended: goes on with what waited for them.
  void progress();
  void task_ended(std::uint64_t serial);
  // Functions under way are forgotten: the session is ending.
  void clear();

 private:
  struct Operation {
    TaskManagementRequest request;
    std::uint64_t id = 0;
    bool waits_for_commands = false;
    std::vector<std::uint64_t> tasks;  // serials of those to be let go of
    std::optional<TaskManagementAnswer> answer;
  };

  void carry_out(Operation& operation);
  void abort_task(Operation& operation);
  void abort_set(Operation& operation);
  void ask_handler(Operation& operation);
  TaskManagementAnswer query_task(const TaskManagementRequest& request);
  TaskManagementAnswer query_task_set(const TaskManagementRequest& request);
  TaskManagementAnswer task_not_found(const TaskManagementRequest& request);
  void handler_answered(std::uint64_t id, TaskManagementAnswer answer);

  TaskManagementHost& host_;
  std::list<Operation> operations_;
  std::uint64_t next_id_ = 0;
  // Dies with us, so that a late answer of the handler finds nobody.
  std::shared_ptr<TaskManagement*> self_;
};

}  // namespace openiser::iscsi
