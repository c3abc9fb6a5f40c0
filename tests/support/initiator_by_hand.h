// An initiator made by hand against our target's connection, for tests of what either sends.
#pragma once

#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/iser.h"

namespace openiser::test {

inline iser::Settings target_settings(Dialect dialect = Dialect::rfc7145) {
  return {.role = Role::target, .dialect = dialect};
}

class InitiatorByHand : public HandMadePeer {
 public:
  explicit InitiatorByHand(iser::Settings settings = target_settings(),
                           iscsi::Parameters parameters = {}, rdmap::LoopbackSettings link = {})
      : HandMadePeer(settings, parameters, nullptr, link) {}

  rdmap::RemoteMemory open(std::vector<std::byte>& memory) {
    regions.push_back(*peer->register_memory(memory, rdmap::Access::remote_read_write));
    return {regions.back().stag(), regions.back().base_offset()};
  }
  // A read or write of all of `memory`.
  void command(bool write, const std::vector<std::byte>& memory, iser::ControlHeader header,
               std::uint32_t tag = kTag, Bytes immediate = {}, bool final = true) {
    const auto length = static_cast<std::uint32_t>(memory.size());
    send(control_pdu(iscsi::encode(iscsi::ScsiCommand{.final = final,
                                                      .read = !write,
                                                      .write = write,
                                                      .initiator_task_tag = tag,
                                                      .expected_data_transfer_length = length,
                                                      .cmd_sn = cmd_sn++}),
                     immediate),
         header);
  }
  void respond(std::uint32_t tag = kTag) {
    end->send_control(control_pdu(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = tag})),
                      nullptr);
    run();
  }
  void put(Bytes data, std::uint32_t offset, bool notify = true, bool acknowledge = false,
           std::uint32_t data_sn = 0) {
    end->put_data({.acknowledge = acknowledge,
                   .initiator_task_tag = kTag,
                   .data_sn = data_sn,
                   .buffer_offset = offset},
                  Buffer::copy_of(data), notify);
  }
  void get(std::uint32_t offset, std::uint32_t length, std::uint32_t tag = kTag,
           std::uint32_t r2t_sn = 0) {
    end->get_data({.initiator_task_tag = tag,
                   .r2t_sn = r2t_sn,
                   .buffer_offset = offset,
                   .desired_data_transfer_length = length},
                  sinks.lease(length));
  }
  ErrorCode why() const { return client.end.value_or(ErrorCode()); }

  CountingOwner sinks;
  std::vector<rdmap::MemoryRegion> regions;
  std::uint32_t cmd_sn = 1;
};

}  // namespace openiser::test
