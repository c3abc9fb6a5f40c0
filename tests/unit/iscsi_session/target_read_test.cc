// Reads, responses and residuals at the target.
#include <numeric>

#include "tests/support/target_fixture.h"

namespace openiser::test {
namespace {

class TargetRead : public TargetFixture {
 protected:
  TargetRead() { start(); }
  // A task that waits for the test.
  TargetTask& open(const ScsiCommand& pdu, Bytes data = {}, Bytes ahs = {}) {
    datamover.deliver(pdu, data, ahs);
    EXPECT_FALSE(handler.executed.empty());
    return *handler.executed.back();
  }
  std::vector<std::byte> read_data() const {
    std::vector<std::byte> whole;
    for (const auto& put : datamover.puts) {
      EXPECT_EQ(put.pdu.buffer_offset, whole.size());
      whole.insert(whole.end(), put.data.begin(), put.data.end());
    }
    return whole;
  }
  // Each read is answered by one lease of `size` bytes, in order, as soon as there is memory.
  void answer_reads(std::size_t size) {
    const auto try_reads = [this, size] {
      while (!waiting.empty()) {
        Buffer buffer = waiting.front()->take_buffer(size);
        if (!buffer) return;
        TargetTask* task = waiting.front();
        waiting.pop_front();
        task->send_data(std::move(buffer), 0);
        task->finish(0, {}, size);
      }
    };
    handler.on_execute = [this, try_reads](TargetTask& task) {
      waiting.push_back(&task);
      if (waiting.size() == 1) try_reads();
    };
    handler.on_memory_freed = try_reads;
  }

  std::deque<TargetTask*> waiting;
};

TEST_F(TargetRead, HandsTheCommandOver) {
  ScsiCommand pdu = read_command(0x1234, 512);
  pdu.attribute = TaskAttribute::ordered;
  std::iota(reinterpret_cast<std::uint8_t*>(pdu.cdb.data()),
            reinterpret_cast<std::uint8_t*>(pdu.cdb.data()) + 16, std::uint8_t{0x28});
  const TargetTask& task = open(pdu);
  EXPECT_EQ(task.initiator_task_tag, 0x1234u);
  EXPECT_EQ(task.lun, lun_of(3));
  EXPECT_EQ(task.attribute, TaskAttribute::ordered);
  EXPECT_TRUE(task.read);
  EXPECT_FALSE(task.write);
  EXPECT_EQ(task.expected_data_transfer_length, 512u);
  EXPECT_TRUE(std::ranges::equal(task.cdb, pdu.cdb));
}

TEST_F(TargetRead, ExtendedCdbIsOnePiece) {
  const auto extension = random_bytes(16);
  CommandAhs contents;
  contents.extended_cdb = extension;
  const Buffer ahs = build_command_ahs(contents);
  const ScsiCommand pdu = read_command(1, 0);
  const TargetTask& task = open(pdu, {}, ahs.bytes());
  ASSERT_GE(task.cdb.size(), 32u);
  EXPECT_TRUE(std::ranges::equal(task.cdb.first(16), pdu.cdb));
  EXPECT_TRUE(std::ranges::equal(task.cdb.subspan(16, 16), extension));
}

TEST_F(TargetRead, SendsDataThenStatus) {
  TargetTask& task = open(read_command(1, 4096));
  const auto data = random_bytes(4096);
  task.send_data(Buffer::copy_of(data), 0);
  EXPECT_TRUE(datamover.sent.empty());
  task.finish(0, {}, 4096);
  EXPECT_EQ(read_data(), data);
  EXPECT_TRUE(datamover.puts[0].pdu.final);
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.initiator_task_tag, 1u);
  EXPECT_FALSE(response.overflow || response.underflow);
  EXPECT_EQ(response.exp_data_sn, 1u);
  EXPECT_EQ(response.max_cmd_sn, parameters.max_cmd_sn + 1);
}

TEST_F(TargetRead, FinalEndsEverySequenceOfMaxBurstLength) {
  for (const std::size_t length : {65535u, 65536u, 65537u, 98304u, 196608u}) {
    datamover.puts.clear();
    TargetTask& task = open(read_command(1, static_cast<std::uint32_t>(length)));
    const auto data = random_bytes(length);
    task.send_data(Buffer::copy_of(data), 0);
    task.finish(0, {}, length);
    EXPECT_EQ(read_data(), data);
    EXPECT_EQ(datamover.puts.size(), (length + 65535) / 65536);
    EXPECT_EQ(datamover.take<ScsiResponse>().exp_data_sn, (length + 8191) / 8192);
    datamover.complete_puts();
  }
}

TEST_F(TargetRead, CutsDataAtTheExpectedLength) {
  TargetTask& task = open(read_command(1, 1000));
  const auto data = random_bytes(4096);
  task.send_data(Buffer::copy_of(Bytes(data).first(600)), 0);
  task.send_data(Buffer::copy_of(Bytes(data).subspan(600)), 600);
  task.send_data(Buffer::copy_of(data), 1000);
  task.finish(0, {}, 4096);
  EXPECT_EQ(read_data(), random_bytes(1000));
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_TRUE(response.overflow);
  EXPECT_EQ(response.residual_count, 3096u);
}

TEST_F(TargetRead, SendsNothingToACommandWithoutReadFlag) {
  TargetTask& task = open(command(1));
  task.send_data(Buffer::copy_of(random_bytes(10)), 0);
  task.finish(0, {}, 10);
  EXPECT_TRUE(datamover.puts.empty());
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_TRUE(response.overflow);
  EXPECT_EQ(response.residual_count, 10u);
}

TEST_F(TargetRead, SenseHasItsLengthInFront) {
  TargetTask& task = open(read_command(1, 512));
  const auto sense_data = random_bytes(18);
  task.finish(kStatusCheckCondition, sense_data, 0);
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_EQ(response.status, kStatusCheckCondition);
  EXPECT_TRUE(response.underflow);
  EXPECT_EQ(response.residual_count, 512u);
  ASSERT_EQ(datamover.last.data.size(), 20u);
  EXPECT_EQ(load_be16(datamover.last.data.data()), 18);
  EXPECT_TRUE(std::ranges::equal(Bytes(datamover.last.data).subspan(2), sense_data));
}

TEST_F(TargetRead, SenseIsCutAt252Bytes) {
  open(command(1)).finish(kStatusCheckCondition, random_bytes(300), 0);
  datamover.take<ScsiResponse>();
  EXPECT_EQ(datamover.last.data.size(), 254u);
  EXPECT_EQ(load_be16(datamover.last.data.data()), 252);
}

// RFC 7143 section 11.4.5: expected against presented length, in each direction.
TEST_F(TargetRead, ResidualMatrix) {
  struct Row {
    bool read, write;
    std::uint32_t expected;
    std::uint64_t presented;
    bool overflow, underflow;
    std::uint32_t count;
  };
  const Row rows[] = {
      {true, false, 512, 512, false, false, 0},
      {true, false, 512, 513, true, false, 1},
      {true, false, 512, 511, false, true, 1},
      {true, false, 0, 512, true, false, 512},
      {true, false, 512, 0, false, true, 512},
      {true, false, 512, std::uint64_t{1} << 40, true, false, UINT32_MAX},
      {true, false, UINT32_MAX, 0, false, true, UINT32_MAX},
      {false, true, 512, 512, false, false, 0},
      {false, true, 512, 1024, true, false, 512},
      {false, true, 1024, 512, false, true, 512},
      {false, false, 0, 0, false, false, 0},
      {false, false, 0, 8, true, false, 8},
  };
  for (const Row& row : rows) {
    ScsiCommand pdu = command(1);
    pdu.read = row.read;
    pdu.write = row.write;
    pdu.expected_data_transfer_length = row.expected;
    open(pdu).finish(0, {}, row.presented);
    const auto response = datamover.take<ScsiResponse>();
    EXPECT_EQ(response.overflow, row.overflow) << row.expected << " " << row.presented;
    EXPECT_EQ(response.underflow, row.underflow) << row.expected << " " << row.presented;
    EXPECT_EQ(response.residual_count, row.count) << row.expected << " " << row.presented;
    EXPECT_FALSE(response.bidi_overflow || response.bidi_underflow);
  }
}

TEST_F(TargetRead, BidirectionalCommandHasAResidualEachWay) {
  CommandAhs contents;
  contents.bidirectional_read_length = 100;
  const Buffer ahs = build_command_ahs(contents);
  ScsiCommand pdu = write_command(1, 64);
  pdu.read = true;
  const auto out = random_bytes(64);
  TargetTask& task = open(pdu, out, ahs.bytes());
  EXPECT_EQ(task.expected_bidi_read_length, 100u);
  handler.on_data = [&](TargetTask& t, const DataPieces&) {
    t.send_data(Buffer::copy_of(random_bytes(90)), 0);
    t.finish(0, {}, 90);
  };
  task.receive_data(80);
  EXPECT_EQ(handler.data[1], out);
  EXPECT_EQ(read_data(), random_bytes(90));
  const auto response = datamover.take<ScsiResponse>();
  EXPECT_TRUE(response.overflow);
  EXPECT_EQ(response.residual_count, 16u);
  EXPECT_TRUE(response.bidi_underflow);
  EXPECT_EQ(response.bidi_residual_count, 10u);
}

TEST_F(TargetRead, BidirectionalSharesOneSequenceOfDataSnAndR2tSn) {
  CommandAhs contents;
  contents.bidirectional_read_length = 8192;
  ScsiCommand pdu = write_command(1, 100000);
  pdu.read = true;
  TargetTask& task = open(pdu, {}, build_command_ahs(contents).bytes());
  task.send_data(Buffer::copy_of(random_bytes(8192)), 0);
  task.receive_data(100000);
  ASSERT_EQ(datamover.gets.size(), 2u);
  EXPECT_EQ(datamover.puts[0].pdu.data_sn, 0u);
  EXPECT_EQ(datamover.gets[0].pdu.r2t_sn, 1u);
  EXPECT_EQ(datamover.gets[1].pdu.r2t_sn, 2u);
  const auto out = random_bytes(100000);
  datamover.complete_get(out);
  datamover.complete_get(out);
  EXPECT_EQ(handler.data[1], out);
  task.finish(0, {}, 8192);
  EXPECT_EQ(datamover.take<ScsiResponse>().exp_data_sn, 1u);
}

TEST_F(TargetRead, BidirectionalCommandWithoutReadLengthIsRejected) {
  ScsiCommand pdu = write_command(1, 64);
  pdu.read = true;
  datamover.deliver(pdu);
  expect_reject(RejectReason::invalid_pdu_field, encode(pdu));
  EXPECT_TRUE(handler.executed.empty());
}

TEST_F(TargetRead, FlushesOncePerTurnAndAtOnceOutsideOfOne) {
  handler.on_execute = [](TargetTask& task) {
    task.send_data(Buffer::copy_of(random_bytes(100)), 0);
    task.finish(0, {}, 100);
  };
  datamover.deliver(read_command(1, 100));
  EXPECT_EQ(datamover.flushes, 1);
  handler.on_execute = nullptr;
  datamover.deliver(read_command(2, 100));
  EXPECT_EQ(datamover.flushes, 1) << "nothing to flush";
  handler.executed.back()->finish(0, {}, 0);
  EXPECT_EQ(datamover.flushes, 2);
}

TEST_F(TargetRead, ReusesTaskObjects) {
  handler.on_execute = [](TargetTask& task) { task.finish(0, {}, 0); };
  for (std::uint32_t i = 0; i < 100; ++i) datamover.deliver(read_command(i, 100));
  for (const TargetTask* task : handler.executed) EXPECT_EQ(task, handler.executed[0]);
  EXPECT_EQ(session->counters().commands, 100u);
  EXPECT_EQ(session->counters().tasks, 0u);
}

TEST_F(TargetRead, MemoryComesBackWhenReadDataIsSent) {
  // 64 tasks of 1 MiB each against a limit of 4 MiB (spdk 59a1fbe9).
  session.reset();
  limits.buffer_bytes = limits.transfer_window = std::size_t{4} << 20;
  limits.command_window = 128;
  start();
  answer_reads(std::size_t{1} << 20);
  for (std::uint32_t i = 0; i < 64; ++i) datamover.deliver(read_command(i, 1 << 20));
  EXPECT_EQ(waiting.size(), 60u);
  while (datamover.puts_to_complete() > 0) datamover.complete_one_put();
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(datamover.sent.size(), 64u);
}

TEST_F(TargetRead, NoMoreIsReadThanAWindowAheadOfWhatIsSent) {
  session.reset();
  limits.transfer_window = 100000;
  start();
  answer_reads(30000);
  for (std::uint32_t i = 0; i < 8; ++i) datamover.deliver(read_command(i, 30000));
  EXPECT_EQ(waiting.size(), 4u) << "90,000 bytes leave the window open, 120,000 do not";
  datamover.complete_one_put();
  EXPECT_EQ(waiting.size(), 3u);
  while (datamover.puts_to_complete() > 0) datamover.complete_one_put();
  EXPECT_TRUE(waiting.empty());
  EXPECT_EQ(datamover.sent.size(), 8u);
}

TEST_F(TargetRead, WritesDoNotKeepReadsFromTheWindowThatOpensAgain) {
  session.reset();
  limits.transfer_window = 1000;
  start();
  answer_reads(4096);
  datamover.deliver(read_command(0, 4096));
  datamover.deliver(read_command(1, 4096));
  EXPECT_EQ(waiting.size(), 1u);
  handler.on_execute = [](TargetTask& task) { task.receive_data(1 << 20); };
  datamover.deliver(write_command(2, 1 << 20));
  datamover.complete_one_put();
  EXPECT_TRUE(waiting.empty()) << "more memory is out than when the read was refused it";
}

}  // namespace
}  // namespace openiser::test
