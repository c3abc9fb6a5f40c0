// Two iSER connections over our own RDMAP, joined by a simulated byte stream: the same conversation
// as over the loopback provider, with segments, read responses and Terminates on a wire.
#include <gtest/gtest.h>

#include "rdmap/iwarp.h"
#include "tests/support/byte_shuttle.h"
#include "tests/support/iser.h"

namespace openiser::test {
namespace {

struct Wire {
  const char* name;
  Dialect dialect;
  std::size_t chunk;
  bool markers;
};

class IserOverIwarp : public ::testing::TestWithParam<Wire> {
 protected:
  struct End {
    End(rdmap::MpaRole mpa_role, Role role, BufferPool& pool, const Wire& wire, Time now) {
      rdmap::MpaSettings mpa;
      mpa.markers = wire.markers;
      mpa.zero_based_offsets = wire.dialect == Dialect::rfc5046;
      auto queue_pair = rdmap::make_iwarp_queue_pair(mpa_role, mpa, now);
      endpoint = queue_pair.get();
      iser::Settings settings{.role = role, .dialect = wire.dialect};
      connection = IserConnection::create(std::move(queue_pair), settings, pool, nullptr);
      iscsi::Parameters parameters;
      parameters.initial_r2t = false;
      EXPECT_TRUE(connection->allocate_connection_resources(parameters));
      connection->enable_datamover(client);
    }
    DatamoverRecorder client;
    StreamEndpoint* endpoint;
    std::unique_ptr<IserConnection> connection;
  };

  IserOverIwarp() {
    shuttle.join(*initiator.endpoint, *target.endpoint);
    disk.immediate_only = false;
    disk.disk = noise(disk.disk.size(), 5);
    run();
  }
  void run() {
    initiator.connection->flush();
    target.connection->flush();
    shuttle.run();
  }
  void execute(Command& command) {
    command.send(*initiator.connection);
    run();
    ASSERT_FALSE(initiator.client.end) << initiator.client.end->message();
    ASSERT_FALSE(target.client.end) << target.client.end->message();
  }

  ManualClock clock;
  BufferPool pool;
  End initiator{rdmap::MpaRole::initiator, Role::initiator, pool, GetParam(), clock.now()};
  End target{rdmap::MpaRole::responder, Role::target, pool, GetParam(), clock.now()};
  DiskTarget disk{*target.connection, target.client, pool};
  ByteShuttle shuttle{GetParam().chunk, clock};
};

TEST_P(IserOverIwarp, Reads) {
  for (const std::size_t size : {0, 1, 4096, 100001}) {
    Command command;
    command.in.resize(size);
    execute(command);
    EXPECT_TRUE(std::equal(command.in.begin(), command.in.end(), disk.disk.begin()));
  }
  EXPECT_EQ(initiator.client.count(Opcode::scsi_response), 4U);
}

TEST_P(IserOverIwarp, WritesWithImmediateUnsolicitedAndSolicitedData) {
  for (const std::size_t size : {1, 8192, 65536, 200000}) {
    Command command;
    command.out = noise(size, static_cast<std::uint32_t>(size));
    command.immediate = std::min<std::uint32_t>(static_cast<std::uint32_t>(size), 5000);
    command.unsolicited = std::min<std::uint32_t>(static_cast<std::uint32_t>(size), 65536);
    execute(command);
    EXPECT_TRUE(std::equal(command.out.begin(), command.out.end(), disk.disk.begin()));
  }
  EXPECT_EQ(initiator.client.count(Opcode::scsi_response), 4U);
}

// The recorder keeps all PDUs, and so their data: more of them than receives are posted.
TEST_P(IserOverIwarp, WriteDataThatIsKeptStaysAsItCameAndTakesNoCredit) {
  std::vector<Command> commands(400);
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    commands[i].tag = i;
    commands[i].out = noise(4096, i);
    commands[i].immediate = commands[i].unsolicited = 4096;
    commands[i].send(*initiator.connection);
    if (i % 20 == 19) run();
    ASSERT_FALSE(target.client.end) << target.client.end->message();
  }
  EXPECT_EQ(initiator.client.count(Opcode::scsi_response), commands.size());
  std::size_t n = 0;
  for (const ControlPdu& pdu : target.client.pdus)
    EXPECT_TRUE(std::ranges::equal(pdu.data.bytes(), commands[n++].out)) << n;
  EXPECT_EQ(n, commands.size());
}

TEST_P(IserOverIwarp, Bidirectional) {
  Command command;
  command.out = noise(50000, 8);
  command.in.resize(50000);
  execute(command);
  EXPECT_EQ(command.in, command.out);
}

TEST_P(IserOverIwarp, ManyAtOnce) {
  std::vector<Command> commands(100);
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    commands[i].tag = i;
    commands[i].in.resize(3000 + i);
    commands[i].send(*initiator.connection);
  }
  run();
  EXPECT_EQ(initiator.client.count(Opcode::scsi_response), commands.size());
  for (const Command& command : commands)
    EXPECT_TRUE(std::equal(command.in.begin(), command.in.end(), disk.disk.begin()));
}

TEST_P(IserOverIwarp, AbortInTheMiddleOfData) {
  disk.piece = 10000;
  Command command;
  command.out = noise(300000, 1);
  command.send(*initiator.connection);
  initiator.connection->flush();
  while (target.client.pdus.empty() && shuttle.step()) {
  }
  target.connection->deallocate_task_resources(kTag);
  // The initiator takes its memory back when the target has answered the abort.
  target.connection->send_control(
      control_pdu(iscsi::encode(iscsi::TaskManagementResponse{.initiator_task_tag = 1})), nullptr);
  initiator.client.on_control = [&](ControlPdu&) {
    initiator.connection->deallocate_task_resources(kTag);
    std::fill(command.out.begin(), command.out.end(), std::byte{});
  };
  target.connection->expired(clock.now());
  run();
  EXPECT_EQ(initiator.client.count(Opcode::task_management_response), 1U);
  EXPECT_FALSE(initiator.client.end);
  EXPECT_FALSE(target.client.end);
  for (const auto& done : target.client.completions) EXPECT_EQ(done.status, errc::task_aborted);
  EXPECT_FALSE(target.client.completions.empty());
  Command next;
  next.tag = kTag + 1;
  next.in.resize(1000);
  execute(next);
  EXPECT_EQ(initiator.client.count(Opcode::scsi_response), 1U);
}

TEST_P(IserOverIwarp, LogoutIsAnsweredBeforeTheEnd) {
  target.client.on_control = [&](ControlPdu&) {
    target.connection->send_control(control_pdu(iscsi::encode(iscsi::LogoutResponse{})), nullptr);
    target.connection->connection_terminate({});
  };
  initiator.connection->send_control(control_pdu(iscsi::encode(iscsi::LogoutRequest{})), nullptr);
  run();
  EXPECT_EQ(initiator.client.count(Opcode::logout_response), 1U);
  EXPECT_EQ(initiator.client.end.value_or(ErrorCode()), errc::connection_closed);
  EXPECT_EQ(target.client.end.value_or(errc::protocol_error), ErrorCode());
}

TEST_P(IserOverIwarp, CutAtManyPointsEverythingComesBack) {
  Command commands[2];
  commands[0].out = noise(100000, 1);
  commands[0].unsolicited = commands[0].immediate = 8000;
  commands[1].in.resize(100000);
  for (std::uint32_t i = 0; i < 2; ++i) {
    commands[i].tag = i;
    commands[i].send(*initiator.connection);
  }
  initiator.connection->flush();
  // Each case of the suite cuts at another point: a chunk more or less.
  for (std::size_t steps = 0; steps < 5 + GetParam().chunk % 7; ++steps) shuttle.step();
  shuttle.cut(make_error_code(boost::system::errc::connection_reset));
  run();
  EXPECT_TRUE(initiator.client.end.value_or(ErrorCode()));
  EXPECT_TRUE(target.client.end.value_or(ErrorCode()));
  for (auto* client : {&initiator.client, &target.client}) {
    client->pdus.clear();
    client->completions.clear();
  }
  EXPECT_EQ(pool.outstanding(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Wires, IserOverIwarp,
                         ::testing::Values(Wire{"Rfc7145Large", Dialect::rfc7145, 1 << 20, false},
                                           Wire{"Rfc7145Small", Dialect::rfc7145, 1460, false},
                                           Wire{"Rfc7145Markers", Dialect::rfc7145, 997, true},
                                           Wire{"Rfc5046", Dialect::rfc5046, 4096, false},
                                           Wire{"Rfc5046Markers", Dialect::rfc5046, 65536, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace openiser::test
