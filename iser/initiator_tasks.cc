#include "iser/initiator_tasks.h"

#include "iscsi/errors.h"

namespace openiser::iser {
namespace {

rdmap::RemoteMemory advertised(const rdmap::MemoryRegion& region) {
  return {.stag = region.stag(), .offset = region.base_offset()};
}

// Of the write buffer, what the Write STag opens; empty when all of it goes unasked.
MutableBytes opened(const iscsi::TaskMemory& memory, BaseOffset base_offset) {
  if (memory.out.size() <= memory.unsolicited_size) return {};
  const Bytes part = base_offset == BaseOffset::solicited_part
                         ? memory.out.subspan(memory.unsolicited_size)
                         : memory.out;
  return {const_cast<std::byte*>(part.data()), part.size()};  // opened for reading only
}

}  // namespace

Result<ControlHeader> InitiatorTasks::open(std::uint32_t initiator_task_tag,
                                           const iscsi::TaskMemory* memory, BaseOffset base_offset,
                                           rdmap::Access read_access) {
  ControlHeader header;
  Task& task = tasks_.insert(initiator_task_tag, {});
  task.serial = next_serial_++;
  if (!memory) return header;
  if (const MutableBytes out = opened(*memory, base_offset); !out.empty()) {
    auto region = queue_pair_.register_memory(out, rdmap::Access::remote_read);
    if (!region) return region.error();
    task.write = std::move(*region);
    header.write = advertised(task.write);
  }
  if (!memory->in.empty()) {
    auto region = queue_pair_.register_memory(memory->in, read_access);
    if (!region) return region.error();
    task.read = std::move(*region);
    header.read = advertised(task.read);
  }
  return header;
}

rdmap::WorkId InitiatorTasks::sending(std::uint32_t initiator_task_tag) {
  Task* task = tasks_.find(initiator_task_tag);
  if (!task) return 0;
  ++task->sends;
  return rdmap::WorkId{task->serial} << 32 | initiator_task_tag;
}

void InitiatorTasks::sent(rdmap::WorkId id) {
  const auto tag = static_cast<std::uint32_t>(id);
  Task* task = tasks_.find(tag);
  if (!task || task->sends == 0 || task->serial != id >> 32) return;
  --task->sends;
  if (task->concluded && task->sends == 0) tasks_.erase(tag);
}

bool InitiatorTasks::in_use(std::uint32_t initiator_task_tag) const {
  const Task* task = tasks_.find(initiator_task_tag);
  return task && task->sends > 0;
}

ErrorCode InitiatorTasks::conclude(std::uint32_t initiator_task_tag,
                                   std::optional<rdmap::Stag> invalidated) {
  Task* task = tasks_.find(initiator_task_tag);
  if (invalidated) {
    const bool ours = task && ((task->read && task->read.stag() == *invalidated) ||
                               (task->write && task->write.stag() == *invalidated));
    if (!ours) return iscsi::errc::iser_invalidated_stag;
  }
  if (!task) return {};
  if (task->sends == 0) {
    tasks_.erase(initiator_task_tag);
  } else {
    task->read.invalidate();
    task->write.invalidate();
    task->concluded = true;
  }
  return {};
}

}  // namespace openiser::iser
