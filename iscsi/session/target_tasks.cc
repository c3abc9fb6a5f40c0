// The session's tasks: opened, served with memory, given their data, reused.
#include <algorithm>
#include <utility>

#include "iscsi/session/target_session_impl.h"

namespace openiser::iscsi {

ScsiTask& TargetSessionImpl::open_task(const ScsiCommand& command, const CommandAhs& ahs) {
  if (spare_tasks_.empty()) {
    ScsiTaskHost& host = *this;
    all_tasks_.push_back(std::make_unique<ScsiTask>(host));
    spare_tasks_.push_back(all_tasks_.back().get());
  }
  ScsiTask& task = *spare_tasks_.back();
  spare_tasks_.pop_back();
  task.begin(command, ahs, next_serial_++);
  tasks_.insert(task);
  std::ranges::replace(aborted_tags_, command.initiator_task_tag, kReservedTag);
  if (command.immediate) ++immediate_tasks_;
  ++counters_.commands;
  return task;
}

ScsiTask* TargetSessionImpl::find_task(std::uint32_t initiator_task_tag) {
  return tasks_.find(initiator_task_tag);
}

std::vector<ScsiTask*> TargetSessionImpl::select_tasks(
    const std::function<bool(const ScsiTask&)>& covered) {
  std::vector<ScsiTask*> selected;
  tasks_.for_each([&](ScsiTask& task) {
    if (covered(task)) selected.push_back(&task);
  });
  std::ranges::sort(selected, {}, &ScsiTask::serial);
  return selected;
}

void TargetSessionImpl::abort_tasks() {
  for (ScsiTask* task : select_tasks([](const ScsiTask&) { return true; })) task->abort();
}

void TargetSessionImpl::task_ending(ScsiTask& task) {
  tasks_.erase(task);
  if (task.immediate()) {
    --immediate_tasks_;
  } else {
    window_.retire();
  }
  if (!task.aborted()) return;
  ++counters_.aborted;
  if (!task.data_may_follow()) return;
  aborted_tags_[next_aborted_tag_] = task.initiator_task_tag;
  next_aborted_tag_ = (next_aborted_tag_ + 1) % aborted_tags_.size();
}

void TargetSessionImpl::task_ended(ScsiTask& task) {
  counters_.bytes_written += task.bytes_written();
  std::erase(ready_, &task);
  std::erase(memory_queue_, &task);
  ended_.push_back(&task);
}

bool TargetSessionImpl::deliver_ready() {
  if (ready_.empty()) return false;
  // A handler may make others ready or end them while it takes its data.
  ScsiTask* task = ready_.front();
  ready_.erase(ready_.begin());
  task->deliver();
  return true;
}

bool TargetSessionImpl::recycle_ended() {
  if (ended_.empty()) return false;
  for (ScsiTask* task : ended_) {
    management_.task_ended(task->serial());
    spare_tasks_.push_back(task);
  }
  ended_.clear();
  return true;
}

void TargetSessionImpl::sending(std::size_t bytes, std::size_t lease) {
  counters_.bytes_read += bytes;
  sending_.begin(lease);
}

Buffer TargetSessionImpl::take_buffer(std::size_t size) {
  if (!sending_.is_open()) {
    reads_held_ = true;
    return {};
  }
  Buffer buffer = pool_.take(size);
  if (!buffer) memory_refused_at_ = pool_.outstanding();
  return buffer;
}

// Writes first, in order: they have waited longest, and take all they need at once. Then the
// handler's reads.
bool TargetSessionImpl::serve_memory() {
  if (!memory_queue_.empty() && fetching_.is_open()) {
    ScsiTask* task = memory_queue_.front();
    memory_queue_.pop_front();
    if (task->try_memory(pool_, limits_.buffer_bytes)) return true;
    memory_queue_.push_front(task);
  }
  const bool freed = memory_refused_at_ && pool_.outstanding() < *memory_refused_at_;
  if (!freed && !(reads_held_ && sending_.is_open())) return false;
  memory_refused_at_.reset();
  reads_held_ = false;
  handler_->memory_freed();
  return true;
}

}  // namespace openiser::iscsi
