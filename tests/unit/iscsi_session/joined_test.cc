// Both sessions, joined in memory, at work and at their ends.
#include <list>

#include "iscsi/session/initiator_session.h"
#include "tests/support/initiator_fixture.h"
#include "tests/support/ram_disk_handler.h"
#include "tests/support/session_link.h"

namespace openiser::test {
namespace {

// One of each, over a link, with a disk.
struct Rig {
  Rig(const Parameters& p, unsigned seed, std::size_t disk_size, std::size_t memory)
      : parameters(p), link(p, seed), disk(disk_size, seed + 1) {
    TargetSessionLimits target_limits;
    target_limits.command_window = 32;
    target_limits.buffer_bytes = memory;
    target = TargetSession::create(p, link.target_side, &disk, target_host, target_limits);
    initiator = InitiatorSession::create(p, link.initiator_side, initiator_host);
  }
  bool step(std::mt19937& random) {
    const bool disk_first = random() % 2 == 0;
    if (disk_first && disk.step()) return true;
    if (link.step()) return true;
    return disk.step();
  }
  void run(std::mt19937& random) {
    while (step(random)) {
    }
    EXPECT_TRUE(link.nothing_staged()) << "something was not flushed";
  }
  void expect_ended() const {
    EXPECT_EQ(target_host.ended.size(), 1u);
    EXPECT_EQ(initiator_host.ended.size(), 1u);
    EXPECT_EQ(target->counters().tasks, 0u);
    EXPECT_EQ(disk.open(), 0u);
  }

  Parameters parameters;
  SessionLink link;
  RamDiskHandler disk;
  FakeSessionHost target_host;
  FakeInitiatorHost initiator_host;
  std::unique_ptr<TargetSession> target;
  std::unique_ptr<InitiatorSession> initiator;
};

// A read or write at a place of its own.
struct Operation {
  Operation(std::uint32_t place, std::uint32_t length, unsigned seed, bool write)
      : data(write ? random_bytes(length, seed) : std::vector<std::byte>(length)),
        at(place),
        is_write(write) {
    task.cdb = disk_cdb(write ? kWrite : kRead, place, length);
    if (write) task.data_out = data;
    if (!write) task.data_in = data;
  }
  std::vector<std::byte> data;
  std::uint32_t at;
  bool is_write;
  TestTask task;
};

Parameters random_parameters(std::mt19937& random) {
  const auto pick = [&](std::initializer_list<std::uint32_t> values) {
    return values.begin()[random() % values.size()];
  };
  Parameters p = session_parameters();
  p.immediate_data = random() % 2 == 0;
  p.initial_r2t = random() % 2 == 0;
  p.max_send_data_segment_length = pick({512, 1000, 8192, 65536});
  p.max_burst_length = pick({512, 4096, 65536, 262144, 1000000});
  p.first_burst_length = std::min(p.max_burst_length, pick({512, 5000, 65536}));
  p.max_outstanding_r2t = static_cast<std::uint16_t>(pick({1, 2, 8}));
  return p;
}

TEST(JoinedSessions, DataArrivesAsItWasSent) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    constexpr std::uint32_t kPlaces = 24;
    constexpr std::uint32_t kPlaceSize = 100000;
    const Parameters p = random_parameters(random);
    Rig rig(p, seed, kPlaces * kPlaceSize, std::size_t{1} << 20);
    std::vector<std::byte> model(rig.disk.disk);
    for (int round = 0; round < 4; ++round) {
      std::list<Operation> operations;
      for (std::uint32_t place = 0; place < kPlaces; ++place) {
        const std::uint32_t most = p.max_burst_length == 512 ? 5000 : kPlaceSize;
        operations.emplace_back(place * kPlaceSize, 1 + static_cast<std::uint32_t>(random()) % most,
                                seed * 100 + round * 30 + place, random() % 2 == 0);
        rig.initiator->submit(operations.back().task);
        if (random() % 4 == 0) rig.initiator->flush();
        if (random() % 4 == 0) rig.step(random);
      }
      rig.initiator->flush();
      rig.run(random);
      for (Operation& operation : operations) {
        ASSERT_EQ(operation.task.times_done, 1);
        ASSERT_FALSE(operation.task.error);
        ASSERT_EQ(operation.task.status, 0);
        ASSERT_EQ(operation.task.residual, 0);
        const auto place = model.begin() + operation.at;
        if (operation.is_write) {
          std::copy(operation.data.begin(), operation.data.end(), place);
        } else {
          ASSERT_TRUE(std::equal(operation.data.begin(), operation.data.end(), place));
        }
      }
      ASSERT_TRUE(model == rig.disk.disk);
    }
    rig.initiator->logout();
    rig.run(random);
    rig.expect_ended();
    EXPECT_EQ(rig.target_host.ended[0], errc::logged_out);
    EXPECT_EQ(rig.initiator_host.ended[0], errc::logged_out);
  }
}

TEST(JoinedSessions, DrainsDeepQueuesOfLargeTasks) {
  std::mt19937 random(7);
  Parameters p = session_parameters();
  p.max_burst_length = 262144;
  constexpr std::uint32_t kSize = 1 << 20;
  for (const bool write : {false, true}) {
    Rig rig(p, 7, kSize, std::size_t{8} << 20);
    std::list<Operation> operations;
    for (std::uint32_t i = 0; i < 128; ++i) {
      operations.emplace_back(0, kSize, i, write);
      rig.initiator->submit(operations.back().task);
    }
    rig.initiator->flush();
    rig.run(random);
    for (const Operation& operation : operations) ASSERT_EQ(operation.task.times_done, 1);
  }
}

// --- ends ---

// The script of the tests below: reads and writes, an abort, a reset, text and a ping, and then
// what `at_step` does at the given step.
struct Conversation {
  static constexpr std::uint32_t kPlaceSize = 60000;
  explicit Conversation(unsigned seed)
      : random(seed), rig(parameters(), seed, 12 * kPlaceSize, std::size_t{1} << 18) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      operations.emplace_back(i * kPlaceSize, 1000 + i * 5000, i, i % 2 == 0);
      operations.back().task.on_done = [this] {
        // Ended tasks submit one more, which the session has to bring to an end, too.
        if (extra.size() < 4) {
          extra.emplace_back(0, 100, 1, false);
          rig.initiator->submit(extra.back().task);
        }
      };
      rig.initiator->submit(operations.back().task);
    }
    const auto count = [this](ErrorCode, auto&&) { ++answers; };
    rig.initiator->abort(operations.front().task, count);
    rig.initiator->manage(TaskManagementFunction::logical_unit_reset, {}, count);
    rig.initiator->send_targets("", count);
    rig.initiator->ping(random_bytes(100), count);
    rig.initiator->flush();
  }
  static Parameters parameters() {
    Parameters p = session_parameters();
    p.max_burst_length = 16384;
    p.max_cmd_sn = p.next_cmd_sn + 7;
    return p;
  }
  // The number of steps taken if nothing happens.
  int run(int at, const std::function<void()>& event) {
    int steps = 0;
    for (;; ++steps) {
      if (steps == at) event();
      if (!rig.step(random)) break;
    }
    return steps;
  }
  void expect_everything_answered_once() {
    for (const Operation& operation : operations) EXPECT_EQ(operation.task.times_done, 1);
    for (const Operation& operation : extra) EXPECT_EQ(operation.task.times_done, 1);
    EXPECT_EQ(answers, 4);
  }

  std::mt19937 random;
  Rig rig;
  std::list<Operation> operations;
  std::list<Operation> extra;
  int answers = 0;
};

class Ends : public ::testing::TestWithParam<unsigned> {
 protected:
  template <class Event>
  void at_every_step(Event event) {
    const int steps = Conversation(GetParam()).run(-1, [] {});
    ASSERT_GT(steps, 50);
    for (int at = 0; at <= steps; ++at) {
      SCOPED_TRACE(at);
      Conversation conversation(GetParam());
      conversation.run(at, [&] { event(conversation); });
      conversation.rig.expect_ended();
      conversation.expect_everything_answered_once();
      if (HasFailure()) return;
    }
  }
};

TEST_P(Ends, NothingHappens) {
  Conversation conversation(GetParam());
  conversation.run(-1, [] {});
  conversation.expect_everything_answered_once();
  EXPECT_TRUE(conversation.rig.target_host.ended.empty());
  EXPECT_EQ(conversation.rig.target->counters().tasks, 0u);
}

TEST_P(Ends, LinkIsCut) {
  at_every_step([](Conversation& c) { c.rig.link.cut(); });
}

TEST_P(Ends, TargetEnds) {
  at_every_step([](Conversation& c) { c.rig.target->end(errc::terminated); });
}

TEST_P(Ends, SessionIsReinstated) {
  at_every_step([](Conversation& c) { c.rig.target->end(errc::reinstated); });
}

TEST_P(Ends, TargetAsksForLogout) {
  at_every_step([](Conversation& c) { c.rig.target->request_logout(std::chrono::seconds(3)); });
}

TEST_P(Ends, InitiatorEnds) {
  at_every_step([](Conversation& c) { c.rig.initiator->end(errc::terminated); });
}

TEST_P(Ends, InitiatorLogsOut) {
  at_every_step([](Conversation& c) { c.rig.initiator->logout(); });
}

TEST_P(Ends, BothEndAtOnce) {
  at_every_step([](Conversation& c) {
    c.rig.target->end(errc::terminated);
    c.rig.initiator->logout();
    c.rig.target->end(errc::reinstated);
    c.rig.initiator->end(errc::terminated);
  });
}

TEST_P(Ends, ColdReset) {
  at_every_step([](Conversation& c) {
    c.rig.initiator->manage(TaskManagementFunction::target_cold_reset, {}, [](auto, auto) {});
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, Ends, ::testing::Range(1u, 4u));

}  // namespace
}  // namespace openiser::test
