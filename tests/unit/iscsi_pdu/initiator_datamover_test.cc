#include <gtest/gtest.h>

#include <random>

#include "tests/unit/iscsi_pdu/stream_rig.h"

namespace openiser::iscsi::testing {
namespace {

using test::pattern;
using test::to_hex;

constexpr std::uint32_t kTag = 0x77;

Parameters with_r2ts(std::uint16_t max_outstanding, std::uint32_t max_send = 8192,
                     Digests digests = {}) {
  Parameters p = parameters(digests);
  p.max_outstanding_r2t = max_outstanding;
  p.max_send_data_segment_length = max_send;
  p.max_recv_data_segment_length = 1 << 20;
  return p;
}

struct TaskRig : Rig {
  explicit TaskRig(const Parameters& p = with_r2ts(1)) : Rig(Role::initiator, p) {}

  void start(Bytes out, MutableBytes in, std::uint32_t tag = kTag, std::size_t immediate = 0) {
    const TaskMemory memory{out, in, static_cast<std::uint32_t>(immediate),
                            static_cast<std::uint32_t>(immediate)};
    ScsiCommand command;
    command.initiator_task_tag = tag;
    command.write = !out.empty();
    command.read = !in.empty();
    mover->send_control({encode(command), {}, Buffer::wrap(out.first(immediate))}, &memory);
  }
  static DataIn data_in(std::uint32_t offset) {
    DataIn pdu;
    pdu.initiator_task_tag = kTag;
    pdu.buffer_offset = offset;
    pdu.exp_cmd_sn = 31;
    pdu.max_cmd_sn = 32;
    return pdu;
  }
  static R2t r2t(std::uint32_t offset, std::uint32_t length, std::uint32_t sn = 0) {
    R2t pdu;
    pdu.initiator_task_tag = kTag;
    pdu.target_transfer_tag = 0x1000 + sn;
    pdu.lun[1] = std::byte{5};
    pdu.r2t_sn = sn;
    pdu.buffer_offset = offset;
    pdu.desired_data_transfer_length = length;
    pdu.exp_cmd_sn = 31;
    pdu.max_cmd_sn = 32;
    return pdu;
  }
  static Bhs response(std::uint32_t tag = kTag) {
    ScsiResponse pdu;
    pdu.initiator_task_tag = tag;
    return encode(pdu);
  }
};

// --- Data-In ---

TEST(InitiatorRead, DataAreThereBeforeTheResponse) {
  for (const Digests digests : {Digests{}, Digests{true, true}}) {
    TaskRig rig(with_r2ts(1, 8192, digests));
    ByteVector sink(200000);
    const ByteVector data = pattern(200000);
    rig.start({}, sink);
    rig.hear(encode(rig.data_in(0)), Bytes(data).first(1001));
    rig.hear(encode(rig.data_in(1001)), Bytes(data).subspan(1001));
    EXPECT_TRUE(rig.client.controls.empty());
    EXPECT_EQ(rig.client.windows.size(), 2u);
    EXPECT_EQ(rig.client.windows[0], (std::pair{31u, 32u}));
    rig.hear(rig.response());
    EXPECT_EQ(rig.client.controls.size(), 1u);
    EXPECT_EQ(sink, data);
  }
}

TEST(InitiatorRead, StatusWithDataBecomesAResponse) {
  TaskRig rig;
  ByteVector sink(512);
  rig.start({}, sink);
  DataIn pdu = rig.data_in(0);
  pdu.final = pdu.has_status = pdu.underflow = true;
  pdu.status = 0x10;
  pdu.stat_sn = 41;
  pdu.data_sn = 6;
  pdu.residual_count = 100;
  rig.hear(encode(pdu), pattern(412));
  ASSERT_EQ(rig.client.controls.size(), 1u);
  const auto got = decode<ScsiResponse>(rig.client.controls[0].bhs);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->initiator_task_tag, kTag);
  EXPECT_EQ(got->response, 0);
  EXPECT_EQ(got->status, 0x10);
  EXPECT_EQ(got->stat_sn, 41u);
  EXPECT_EQ(got->exp_cmd_sn, 31u);
  EXPECT_EQ(got->max_cmd_sn, 32u);
  EXPECT_EQ(got->exp_data_sn, 7u);
  EXPECT_TRUE(got->underflow && !got->overflow);
  EXPECT_EQ(got->residual_count, 100u);
  EXPECT_TRUE(rig.client.windows.empty()) << "the response carries the window";
}

TEST(InitiatorRead, DataOutsideOfTheBufferEndTheConnection) {
  const auto read = [](std::uint32_t offset, std::size_t length) {
    TaskRig rig;
    ByteVector sink(512);
    rig.start({}, sink);
    rig.hear(encode(rig.data_in(offset)), pattern(length));
    return rig.failure();
  };
  EXPECT_EQ(read(0, 512), ErrorCode());
  EXPECT_EQ(read(512, 0), ErrorCode());
  EXPECT_EQ(read(0, 513), errc::bad_buffer_offset);
  EXPECT_EQ(read(1, 512), errc::bad_buffer_offset);
  EXPECT_EQ(read(513, 0), errc::bad_buffer_offset);
  EXPECT_EQ(read(0xffffffff, 2), errc::bad_buffer_offset);
}

TEST(InitiatorRead, DataForAWriteEndTheConnection) {
  TaskRig rig;
  const ByteVector source(512);
  rig.start(source, {});
  rig.hear(encode(rig.data_in(0)), pattern(4));
  EXPECT_EQ(rig.failure(), errc::bad_buffer_offset);
}

TEST(InitiatorRead, DataForNobodyAreDroppedButStatusIsTold) {
  TaskRig rig(with_r2ts(1, 8192, {true, true}));
  DataIn pdu = rig.data_in(0);
  rig.hear(encode(pdu), pattern(100000));
  EXPECT_TRUE(rig.client.controls.empty());
  pdu.final = pdu.has_status = true;
  rig.hear(encode(pdu), pattern(5));
  EXPECT_EQ(rig.client.controls.size(), 1u) << "it takes a StatSN";
}

TEST(InitiatorRead, EndOfTaskWithinAPduStopsWritingItsMemory) {
  TaskRig rig;
  auto sink = std::make_unique<ByteVector>(100000);
  rig.start({}, *sink);
  const ByteVector bytes = wire(encode(rig.data_in(0)), pattern(100000));
  feed(*rig.mover, Bytes(bytes).first(50000));
  rig.mover->deallocate_task_resources(kTag);
  sink.reset();
  feed(*rig.mover, Bytes(bytes).subspan(50000));
  rig.hear(encode(NopIn()));
  EXPECT_EQ(rig.client.controls.size(), 1u) << "the stream stayed in step";
}

TEST(InitiatorRead, AcknowledgementIsOfErrorRecoveryOnly) {
  for (const std::uint8_t level : {0, 1}) {
    Parameters p = with_r2ts(1);
    p.error_recovery_level = level;
    TaskRig rig(p);
    ByteVector sink(8);
    rig.start({}, sink);
    rig.say();
    rig.client.next_stat_sn = 50;
    DataIn pdu = rig.data_in(0);
    pdu.acknowledge = true;
    pdu.target_transfer_tag = 0x99;
    pdu.data_sn = 3;
    rig.hear(encode(pdu), pattern(8));
    const auto pdus = rig.say();
    ASSERT_EQ(pdus.size(), level);
    if (level == 0) continue;
    const SnackRequest ack = pdus[0].as<SnackRequest>();
    EXPECT_EQ(ack.type, 2);
    EXPECT_EQ(ack.initiator_task_tag, kReservedTag);
    EXPECT_EQ(ack.target_transfer_tag, 0x99u);
    EXPECT_EQ(ack.beg_run, 4u);
    EXPECT_EQ(ack.run_length, 0u);
    EXPECT_EQ(ack.exp_stat_sn, 50u);
  }
}

// --- R2T ---

TEST(InitiatorWrite, EachR2tIsAnsweredFromDataSnZero) {
  TaskRig rig(with_r2ts(2, 512, {true, true}));
  const ByteVector data = pattern(3000);
  rig.start(data, {});
  rig.say();
  rig.client.next_stat_sn = 60;
  rig.hear(encode(rig.r2t(0, 1200, 0)));
  const auto first = rig.say();
  rig.client.next_stat_sn = 61;
  rig.hear(encode(rig.r2t(1200, 1800, 1)));
  const auto second = rig.say();
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(second.size(), 4u);
  ByteVector joined;
  const auto check = [&](const std::vector<WirePdu>& pdus, std::uint32_t sn) {
    for (std::uint32_t i = 0; i < pdus.size(); ++i) {
      const DataOut pdu = pdus[i].as<DataOut>();
      EXPECT_EQ(pdu.data_sn, i);
      EXPECT_EQ(pdu.buffer_offset, joined.size());
      EXPECT_EQ(pdu.final, i + 1 == pdus.size());
      EXPECT_EQ(pdu.initiator_task_tag, kTag);
      EXPECT_EQ(pdu.target_transfer_tag, 0x1000 + sn);
      EXPECT_EQ(pdu.lun[1], std::byte{5});
      EXPECT_EQ(pdu.exp_stat_sn, 60 + sn);
      joined = joined + pdus[i].data;
    }
  };
  check(first, 0);
  check(second, 1);
  EXPECT_EQ(to_hex(joined), to_hex(data));
  EXPECT_EQ(rig.client.windows.size(), 2u);
  EXPECT_TRUE(rig.client.controls.empty());
}

TEST(InitiatorWrite, R2tOutsideOfTheBufferEndsTheConnection) {
  const auto ask = [](std::uint32_t offset, std::uint32_t length) {
    TaskRig rig;
    const ByteVector data = pattern(1000);
    rig.start(data, {});
    rig.hear(encode(rig.r2t(offset, length)));
    return rig.failure();
  };
  EXPECT_EQ(ask(0, 1000), ErrorCode());
  EXPECT_EQ(ask(999, 1), ErrorCode());
  EXPECT_EQ(ask(0, 1001), errc::bad_buffer_offset);
  EXPECT_EQ(ask(1000, 1), errc::bad_buffer_offset);
  EXPECT_EQ(ask(0xffffffff, 0xffffffff), errc::bad_buffer_offset);
}

TEST(InitiatorWrite, R2tsBeyondTheirNumberEndTheConnection) {
  // Nothing is sent meanwhile, and there is more than fits ahead: the first stays open.
  TaskRig rig(with_r2ts(2));
  const ByteVector data(8 << 20);
  rig.start(data, {});
  rig.hear(encode(rig.r2t(0, 4 << 20, 0)));
  rig.hear(encode(rig.r2t(4 << 20, 1 << 20, 1)));
  EXPECT_EQ(rig.failure(), ErrorCode());
  rig.hear(encode(rig.r2t(5 << 20, 1 << 20, 2)));
  EXPECT_EQ(rig.failure(), errc::protocol_error);
}

TEST(InitiatorWrite, BrokenR2tEndsTheConnection) {
  TaskRig rig;
  R2t pdu = rig.r2t(0, 0);
  rig.hear(encode(pdu));
  EXPECT_EQ(rig.failure(), errc::bad_field);
}

TEST(InitiatorWrite, DataAreCutOnlyALittleAhead) {
  TaskRig rig(with_r2ts(1, 65536));
  const ByteVector data = pattern(16 << 20);
  rig.start(data, {});
  rig.say();
  rig.hear(encode(rig.r2t(0, 16 << 20)));
  std::array<Bytes, 4096> pieces;
  std::size_t total = 0;
  while (true) {
    const std::size_t count = rig.mover->gather(pieces);
    std::size_t queued = 0;
    for (const Bytes piece : std::span(pieces).first(count)) queued += piece.size();
    if (queued == 0) break;
    EXPECT_LE(queued, (std::size_t{1} << 20) + 65536 + 48);
    const std::size_t n = std::min<std::size_t>(queued, 300000);
    rig.mover->sent(n, Time());
    total += n;
  }
  EXPECT_EQ(total, (std::size_t{16} << 20) + 256 * 48);
}

TEST(InitiatorWrite, EndOfTaskTakesTheQueueOffItsMemory) {
  for (const bool answered : {false, true}) {
    TaskRig rig(with_r2ts(1, 65536));
    auto data = std::make_unique<ByteVector>(pattern(4 << 20));
    rig.start(*data, {}, kTag, 8192);
    rig.hear(encode(rig.r2t(8192, (4 << 20) - 8192)));
    if (answered) {
      rig.hear(rig.response());
      EXPECT_EQ(rig.client.controls.size(), 1u);
    } else {
      rig.mover->deallocate_task_resources(kTag);
    }
    data.reset();
    const auto pdus = rig.say();
    ASSERT_GT(pdus.size(), 2u);
    EXPECT_LT(pdus.size(), 40u) << "no more is cut";
    EXPECT_EQ(pdus[0].data, pattern(8192));
    EXPECT_EQ(pdus[1].data.front(), std::byte{0}) << "8192 is 0 in the pattern";
    EXPECT_EQ(pdus[1].data[5], std::byte{5});
    rig.hear(encode(rig.r2t(0, 4)));
    EXPECT_TRUE(rig.say().empty()) << "an R2T that was on the way is ignored";
    EXPECT_EQ(rig.failure(), ErrorCode());
  }
}

TEST(InitiatorWrite, UnsolicitedDataOutOfTheSessionAreTakenOffTheMemoryToo) {
  TaskRig rig;
  auto data = std::make_unique<ByteVector>(pattern(8192));
  rig.start(*data, {});
  DataOut pdu;
  pdu.initiator_task_tag = kTag;
  pdu.final = true;
  rig.mover->send_control({encode(pdu), {}, Buffer::wrap(Bytes(*data))});
  rig.mover->deallocate_task_resources(kTag);
  data.reset();
  EXPECT_EQ(rig.say()[1].data, pattern(8192));
}

TEST(InitiatorWrite, OtherTasksGoOn) {
  TaskRig rig(with_r2ts(1, 512));
  const ByteVector mine = pattern(1024);
  auto other = std::make_unique<ByteVector>(1024);
  rig.start(*other, {}, 5);
  rig.start(mine, {});
  R2t ask = rig.r2t(0, 1024, 3);
  ask.initiator_task_tag = 5;
  rig.hear(encode(ask));
  rig.hear(encode(rig.r2t(0, 1024)));
  rig.mover->deallocate_task_resources(5);
  other.reset();
  std::size_t of_mine = 0;
  for (const WirePdu& pdu : rig.say()) {
    if (pdu.bhs.opcode() == Opcode::data_out && pdu.bhs.initiator_task_tag() == kTag)
      of_mine += pdu.data.size();
  }
  EXPECT_EQ(of_mine, 1024u);
}

TEST(InitiatorEnd, PeerThatOnlyPingsIsBounded) {
  struct Echo : RecordingClient {
    void control_notify(ControlPdu pdu) override {
      mover->send_control({encode(NopOut()), {}, std::move(pdu.data)});
    }
    Datamover* mover = nullptr;
  };
  BufferPool pool;
  Echo client;
  Parameters p;
  p.max_recv_data_segment_length = 1 << 20;
  const auto mover = make_tcp_datamover(Role::initiator, p, pool);
  client.mover = mover.get();
  mover->set_client(&client);
  const ByteVector bytes = wire(encode(NopIn()), pattern(1 << 20));
  int heard = 0;
  while (heard < 200 && feed(*mover, bytes) == bytes.size()) ++heard;
  EXPECT_LT(heard, 70);
  mover->transport_closed({}, Time());
}

TEST(InitiatorEnd, TransportErrorIsTold) {
  TaskRig rig;
  ByteVector sink(8);
  rig.start({}, sink);
  const ErrorCode reset =
      boost::system::errc::make_error_code(boost::system::errc::connection_reset);
  rig.close(reset);
  EXPECT_EQ(rig.client.ends, std::vector<ErrorCode>{reset});
}

// --- both ends ---

struct Transfer {
  std::size_t chunk;
  Digests digests;
};
class BackToBack : public ::testing::TestWithParam<Transfer> {
 protected:
  Parameters ours() const {
    Parameters p = with_r2ts(4, 8191, GetParam().digests);
    p.max_recv_data_segment_length = 8191;
    return p;
  }
  std::size_t size() const { return GetParam().chunk == 1 ? 30001 : 1000001; }
};

TEST_P(BackToBack, Read) {
  Rig target(Role::target, ours());
  TaskRig initiator(ours());
  const ByteVector data = pattern(size());
  ByteVector sink(size());
  initiator.start({}, sink);
  DataIn run;
  run.initiator_task_tag = kTag;
  run.final = run.has_status = true;
  target.mover->put_data(run, Buffer::wrap(Bytes(data)), true);
  Shuttle(*initiator.mover, *target.mover, GetParam().chunk).run();
  EXPECT_EQ(target.client.completions.size(), 1u);
  EXPECT_EQ(initiator.client.controls.size(), 1u);
  EXPECT_EQ(sink, data);
}

TEST_P(BackToBack, Write) {
  Rig target(Role::target, ours());
  TaskRig initiator(ours());
  const ByteVector data = pattern(size());
  ByteVector sink(size());
  initiator.start(data, {}, kTag, 1001);
  std::uint32_t sn = 0;
  for (std::size_t at = 1001; at < size(); at += 250000, ++sn) {
    R2t r2t =
        TaskRig::r2t(static_cast<std::uint32_t>(at),
                     static_cast<std::uint32_t>(std::min<std::size_t>(250000, size() - at)), sn);
    target.mover->get_data(
        r2t, Buffer::wrap(MutableBytes(sink).subspan(at, r2t.desired_data_transfer_length)));
  }
  Shuttle(*initiator.mover, *target.mover, GetParam().chunk).run();
  ASSERT_EQ(target.client.controls.size(), 1u);
  std::ranges::copy(target.client.controls[0].data.bytes(), sink.begin());
  EXPECT_EQ(target.client.completions.size(), sn);
  EXPECT_EQ(sink, data);
}

INSTANTIATE_TEST_SUITE_P(Segmentations, BackToBack,
                         ::testing::Values(Transfer{1, {}}, Transfer{1, {true, true}},
                                           Transfer{1447, {true, false}},
                                           Transfer{1447, {false, true}}, Transfer{65536, {}},
                                           Transfer{1 << 20, {true, true}}),
                         [](const auto& info) {
                           return std::to_string(info.param.chunk) +
                                  (info.param.digests.header ? "Header" : "") +
                                  (info.param.digests.data ? "Data" : "");
                         });

// What a target says, with a few bytes changed.
TEST(InitiatorRead, MutatedTarget) {
  std::mt19937 random(17);
  for (int round = 0; round < 3000; ++round) {
    TaskRig rig(with_r2ts(2, 512));
    ByteVector sink(1000);
    const ByteVector source = pattern(1000);
    rig.start(source, sink);
    ByteVector stream = wire(encode(rig.data_in(0)), pattern(600)) + wire(encode(rig.r2t(0, 700))) +
                        wire(encode(rig.data_in(600)), pattern(400)) +
                        wire(encode(rig.r2t(700, 300, 1))) + wire(rig.response());
    const std::size_t starts[] = {0, 648, 696, 1144, 1192};
    for (int change = static_cast<int>(random() % 4); change > 0; --change)
      stream[starts[random() % 5] + random() % 48] = static_cast<std::byte>(random() & 0xff);
    const std::size_t cut = random() % stream.size();
    feed(*rig.mover, Bytes(stream).first(cut), 1 + random() % 700);
    if (random() % 4 == 0) rig.mover->deallocate_task_resources(kTag);
    feed(*rig.mover, Bytes(stream).subspan(cut));
    take_output(*rig.mover);
    EXPECT_LE(rig.client.controls.size(), 5u);
  }
}

}  // namespace
}  // namespace openiser::iscsi::testing
