// Random and mutated PDUs: neither session may fall over, whatever comes.
#include <random>

#include "tests/support/initiator_fixture.h"
#include "tests/support/ram_disk_handler.h"

namespace openiser::test {
namespace {

class Hostile {
 public:
  explicit Hostile(unsigned seed) : random(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random()) % n; }
  // A header of one of `opcodes`, with fields that are likely to matter near the ones in use.
  Bhs header(std::initializer_list<std::uint8_t> opcodes, std::uint32_t cmd_sn) {
    Bhs bhs;
    for (std::byte& b : bhs.raw) b = static_cast<std::byte>(random());
    const bool known = below(20) != 0;
    const std::uint8_t opcode =
        known ? opcodes.begin()[below(static_cast<std::uint32_t>(opcodes.size()))]
              : static_cast<std::uint8_t>(below(64));
    bhs.raw[0] = static_cast<std::byte>(opcode | (below(2) ? 0x40 : 0));
    if (below(4) != 0) bhs.raw[1] = static_cast<std::byte>(0x80 | below(8) << 4 | below(13));
    store_be32(&bhs.raw[16], below(10) == 0 ? kReservedTag : below(6));
    if (below(3) != 0) store_be32(&bhs.raw[20], below(2) ? kReservedTag : below(100000));
    if (below(4) != 0) store_be32(&bhs.raw[24], cmd_sn + below(3) - 1);
    if (below(4) != 0) store_be32(&bhs.raw[36], below(3));
    if (below(4) != 0) store_be32(&bhs.raw[40], below(3) * 512);
    return bhs;
  }
  std::mt19937 random;
};

TEST(HostilePeer, TargetSurvivesWhateverComes) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Hostile peer(seed);
    Parameters p = session_parameters();
    p.immediate_data = seed % 2 == 0;
    p.initial_r2t = seed % 3 == 0;
    p.protocol_level = seed % 5 == 0 ? 2 : 0;
    FakeDatamover datamover;
    FakeSessionHost host;
    FakeHandler handler;
    std::vector<TargetTask*> open;
    handler.on_execute = [&](TargetTask& task) {
      open.push_back(&task);
      if (peer.below(2)) task.receive_data(peer.below(100000));
    };
    handler.on_data = [](TargetTask&, const DataPieces&) {};
    handler.on_abort = [&](TargetTask& task) {
      std::erase(open, &task);
      task.release();
    };
    TargetMonitor monitor(p);
    monitor.attach(datamover);
    auto session = TargetSession::create(p, datamover, &handler, host);
    std::uint32_t cmd_sn = p.next_cmd_sn;
    const auto zeros = std::vector<std::byte>(100000);
    for (int i = 0; i < 300 && host.ended.empty() && !datamover.terminated(); ++i) {
      const auto data = random_bytes(peer.below(4) == 0 ? peer.below(4096) : 0, seed + i);
      const auto ahs = random_bytes(peer.below(8) == 0 ? peer.below(3) * 4 : 0, seed + i);
      datamover.deliver_raw(peer.header({0, 1, 1, 1, 2, 4, 5, 5}, cmd_sn), data, ahs);
      handler.data.clear();
      while (!datamover.sent.empty()) {
        cmd_sn = datamover.sent.front().bhs.exp_cmd_sn();
        datamover.sent.pop_front();
      }
      if (!datamover.gets.empty() && peer.below(2) &&
          datamover.gets.front().pdu.buffer_offset +
                  datamover.gets.front().pdu.desired_data_transfer_length <=
              zeros.size())
        datamover.complete_get(zeros);
      datamover.return_aborted();
      if (!open.empty() && peer.below(3) == 0) {
        TargetTask* task = open.back();
        open.pop_back();
        task->finish(0, {}, peer.below(1000));
      }
    }
    datamover.drop();
    while (!open.empty()) handler.on_abort(*open.back());
    EXPECT_EQ(host.ended.size(), 1u);
    EXPECT_EQ(session->counters().tasks, 0u);
  }
}

TEST(HostilePeer, InitiatorSurvivesWhateverComes) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Hostile peer(seed);
    const Parameters p = session_parameters();
    FakeDatamover datamover;
    FakeInitiatorHost host;
    auto session = InitiatorSession::create(p, datamover, host);
    const auto out = random_bytes(30000);
    std::vector<std::unique_ptr<TestTask>> tasks;
    int answers = 0, asked = 0;
    for (int i = 0; i < 6; ++i) {
      tasks.push_back(std::make_unique<TestTask>());
      tasks.back()->data_out = out;
      session->submit(*tasks.back());
    }
    const auto count = [&](ErrorCode, auto&&) { ++answers; };
    session->abort(*tasks[1], count);
    session->manage(TaskManagementFunction::target_warm_reset, {}, count);
    session->send_targets("All", count);
    session->ping(out, count);
    asked = 4;
    std::vector<std::uint32_t> tags;
    for (const auto& control : datamover.sent) tags.push_back(control.bhs.initiator_task_tag());
    for (int i = 0; i < 50 && !datamover.terminated(); ++i) {
      Bhs bhs = peer.header({0x20, 0x21, 0x22, 0x24, 0x32, 0x3f}, p.next_stat_sn);
      store_be32(&bhs.raw[16], peer.below(8) == 0
                                   ? kReservedTag
                                   : tags[peer.below(static_cast<std::uint32_t>(tags.size()))]);
      auto data = random_bytes(peer.below(2) ? peer.below(200) : 0, seed + i);
      if (data.size() >= kBhsSize)
        store_be32(&data[16], tags[peer.below(static_cast<std::uint32_t>(tags.size()))]);
      datamover.deliver_raw(bhs, data);
    }
    datamover.drop();
    for (const auto& task : tasks) EXPECT_EQ(task->times_done, 1);
    EXPECT_EQ(answers, asked);
    EXPECT_EQ(host.ended.size(), 1u);
  }
}

}  // namespace
}  // namespace openiser::test
