#include "target/scsi/kept_state.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "target/scsi/command.h"
#include "target/scsi/nexus_state.h"

namespace openiser::target {
namespace {

constexpr std::string_view kDisk = "disk ";

}  // namespace

std::optional<std::vector<std::byte>> KeptState::load() const {
  const auto all = file_.load();
  if (!all) return {};
  const auto line_end = std::ranges::find(*all, std::byte{'\n'});
  const std::string line(reinterpret_cast<const char*>(all->data()),
                         static_cast<std::size_t>(line_end - all->begin()));
  if (line_end == all->end() || !line.starts_with(kDisk)) throw makes_no_sense();
  const std::string disk = line.substr(kDisk.size());
  if (disk != disk_) {
    throw StartError(file_.path().string() + ": belongs to another disk: " + disk + ", not " +
                     disk_ + "; bring that disk back, or remove it to go on without what it keeps");
  }
  return std::vector(line_end + 1, all->end());
}

StartError KeptState::makes_no_sense() const {
  return StartError(file_.path().string() +
                    ": makes no sense; put it back from a copy, or remove it to go on without what "
                    "it keeps");
}

ErrorCode KeptState::save(Bytes content) const {
  const std::string line = std::string(kDisk) + disk_ + '\n';
  const Bytes start = std::as_bytes(std::span(line));
  std::vector<std::byte> all(start.begin(), start.end());
  all.insert(all.end(), content.begin(), content.end());
  const Status status = content.empty() ? file_.remove() : file_.save(all);
  if (status) return {};
  log::error("scsi", file_.path().string() + " cannot be written: " + status.error().message());
  return status.error();
}

void save_first(Command& command, KeptState state, std::vector<std::byte> content,
                std::function<void(ErrorCode)> then) {
  command.hold();
  command.unit()->settings().state->writer().post(
      [&command, state = std::move(state), content = std::move(content), then = std::move(then),
       mailbox = command.nexus().mailbox()] {
        const ErrorCode error = state.save(content);
        mailbox->post([&command, then, error](Nexus&) {
          then(error);
          command.let_go();
        });
      });
}

}  // namespace openiser::target
