#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/unit/iscsi_pdu/stream_rig.h"

namespace openiser::iscsi::testing {
namespace {

using test::pattern;
using test::to_hex;

Buffer leased(Rig& rig, const ByteVector& bytes) {
  Buffer buffer = rig.pool.take(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  return buffer;
}

Parameters sending(std::uint32_t max_send, std::uint32_t max_burst = 262144) {
  Parameters p;
  p.max_send_data_segment_length = max_send;
  p.max_burst_length = max_burst;
  p.max_recv_data_segment_length = 1 << 20;
  return p;
}

// --- Put_Data ---

TEST(TargetPut, RunIsCutIntoPdus) {
  Rig rig(Role::target, sending(512));
  DataIn pdu;
  pdu.final = true;
  pdu.initiator_task_tag = 9;
  pdu.data_sn = 5;
  pdu.buffer_offset = 4096;
  pdu.exp_cmd_sn = 11;
  pdu.max_cmd_sn = 12;
  const ByteVector data = pattern(1100);
  EXPECT_EQ(rig.mover->data_in_pdus(1100), 3u);
  rig.mover->put_data(pdu, leased(rig, data), false);
  const auto pdus = rig.say();
  ASSERT_EQ(pdus.size(), 3u);
  ByteVector joined;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const DataIn got = pdus[i].as<DataIn>();
    EXPECT_EQ(got.data_sn, 5 + i);
    EXPECT_EQ(got.buffer_offset, 4096 + 512 * i);
    EXPECT_EQ(got.final, i == 2);
    EXPECT_EQ(got.initiator_task_tag, 9u);
    EXPECT_EQ(got.target_transfer_tag, kReservedTag);
    EXPECT_EQ(got.exp_cmd_sn, 11u);
    EXPECT_EQ(got.max_cmd_sn, 12u);
    joined = joined + pdus[i].data;
  }
  EXPECT_EQ(to_hex(joined), to_hex(data));
}

TEST(TargetPut, RunThatEndsNoSequenceHasNoFinalBit) {
  Rig rig(Role::target, sending(512));
  rig.mover->put_data(DataIn(), leased(rig, pattern(1024)), false);
  for (const WirePdu& pdu : rig.say()) EXPECT_FALSE(pdu.as<DataIn>().final);
}

TEST(TargetPut, StatusGoesWithTheLastPdu) {
  Rig rig(Role::target, sending(512));
  DataIn pdu;
  pdu.final = pdu.has_status = pdu.underflow = true;
  pdu.residual_count = 3;
  pdu.stat_sn = 77;
  rig.mover->put_data(pdu, leased(rig, pattern(1024)), false);
  const auto pdus = rig.say();
  ASSERT_EQ(pdus.size(), 2u);
  EXPECT_FALSE(pdus[0].as<DataIn>().has_status);
  EXPECT_EQ(load_u8(&pdus[0].bhs.raw[1]) & 0x07, 0);
  EXPECT_EQ(pdus[0].bhs.stat_sn(), 0u);
  const DataIn last = pdus[1].as<DataIn>();
  EXPECT_TRUE(last.has_status && last.underflow && last.final);
  EXPECT_EQ(last.stat_sn, 77u);
  EXPECT_EQ(last.residual_count, 3u);
}

// Data segments within a sequence are whole words (RFC 7143 section 11.7.7).
TEST(TargetPut, LimitThatIsNoMultipleOfFour) {
  Rig rig(Role::target, sending(515));
  EXPECT_EQ(rig.mover->data_in_pdus(1024), 2u);
  EXPECT_EQ(rig.mover->data_in_pdus(1025), 3u);
  EXPECT_EQ(rig.mover->max_send_data_segment(), 515u);
  rig.mover->put_data(DataIn(), leased(rig, pattern(1025)), false);
  const auto pdus = rig.say();
  ASSERT_EQ(pdus.size(), 3u);
  EXPECT_EQ(pdus[0].data.size(), 512u);
  EXPECT_EQ(pdus[2].data.size(), 1u);
}

TEST(TargetPut, CountsAsManyPdusAsItSends) {
  for (std::uint32_t length : {0u, 1u, 511u, 512u, 513u, 1023u, 1024u, 5000u}) {
    Rig rig(Role::target, sending(512));
    rig.mover->put_data(DataIn(), leased(rig, pattern(length)), false);
    EXPECT_EQ(rig.say().size(), rig.mover->data_in_pdus(length)) << length;
  }
}

TEST(TargetPut, NoSequenceIsLongerThanMaxBurstLength) {
  for (const std::uint32_t burst : {512u, 1024u, 1300u, 4096u}) {
    for (const std::uint32_t length : {burst, burst * 3 / 2, burst * 3}) {
      Rig rig(Role::target, sending(512, burst));
      DataIn pdu;
      pdu.final = true;
      rig.mover->put_data(pdu, leased(rig, pattern(length)), false);
      std::size_t sequence = 0;
      const auto pdus = rig.say();
      for (const WirePdu& wire : pdus) {
        sequence += wire.data.size();
        EXPECT_LE(sequence, burst);
        if (wire.as<DataIn>().final) sequence = 0;
      }
      EXPECT_EQ(sequence, 0u);
      EXPECT_TRUE(pdus.back().as<DataIn>().final);
    }
  }
}

TEST(TargetPut, LeaseComesBackWhenAllIsSent) {
  Rig rig(Role::target, sending(8192));
  DataIn pdu;
  pdu.initiator_task_tag = 4;
  pdu.data_sn = 2;
  rig.mover->put_data(pdu, leased(rig, pattern(20000)), true);
  const std::size_t all = 20000 + 3 * 48;
  take_output(*rig.mover, all - 1);
  EXPECT_TRUE(rig.client.completions.empty());
  take_output(*rig.mover, 1);
  ASSERT_EQ(rig.client.completions.size(), 1u);
  const DataCompletion& done = rig.client.completions[0];
  EXPECT_EQ(done.kind, DataCompletion::Kind::put);
  EXPECT_EQ(done.initiator_task_tag, 4u);
  EXPECT_EQ(done.sequence_number, 2u);
  EXPECT_FALSE(done.status);
  EXPECT_EQ(done.buffer.size(), 20000u);
  EXPECT_EQ(rig.client.turns, 1);
}

TEST(TargetPut, LeaseIsDroppedWhenNobodyWantsIt) {
  Rig rig(Role::target, sending(8192));
  rig.mover->put_data(DataIn(), leased(rig, pattern(20000)), false);
  EXPECT_GT(rig.pool.outstanding(), 0u);
  take_output(*rig.mover);
  EXPECT_EQ(rig.pool.outstanding(), 0u);
  EXPECT_TRUE(rig.client.completions.empty());
  EXPECT_EQ(rig.client.turns, 0);
}

TEST(TargetPut, EndOfTaskIsReportedWhenTheRunIsOut) {
  Rig rig(Role::target, sending(8192));
  DataIn pdu;
  pdu.initiator_task_tag = 4;
  const ByteVector data = pattern(20000);
  rig.mover->put_data(pdu, leased(rig, data), true);
  rig.mover->deallocate_task_resources(4);
  EXPECT_TRUE(rig.client.completions.empty());
  const auto pdus = rig.say();
  EXPECT_EQ(pdus.size(), 3u) << "the stream stays in step";
  ASSERT_EQ(rig.client.completions.size(), 1u);
  EXPECT_EQ(rig.client.completions[0].status, errc::task_aborted);
}

TEST(TargetPut, ManyLargeReadsDrainAndSilenceDoesNotStall) {
  Parameters p = sending(65536);
  Rig target(Role::target, p);
  Rig initiator(Role::initiator, p);
  const ByteVector data = pattern(1 << 20);
  std::vector<ByteVector> sinks(128, ByteVector(1 << 20));
  for (std::uint32_t i = 0; i < 128; ++i) {
    const TaskMemory memory{{}, sinks[i], 0, 0};
    ScsiCommand command;
    command.initiator_task_tag = i;
    command.read = true;
    initiator.mover->send_control({encode(command), {}, {}}, &memory);
    DataIn run;
    run.initiator_task_tag = i;
    run.final = run.has_status = true;
    target.mover->put_data(run, Buffer::wrap(Bytes(data)), true);
  }
  Shuttle(*initiator.mover, *target.mover, 1 << 20).run();
  EXPECT_EQ(target.client.completions.size(), 128u);
  EXPECT_EQ(target.client.controls.size(), 128u) << "paused reading has resumed";
  EXPECT_EQ(initiator.client.controls.size(), 128u);
  for (const ByteVector& sink : sinks) EXPECT_EQ(sink, data);
}

TEST(TargetPut, ReadingPausesWhileMuchIsQueued) {
  Rig rig(Role::target, sending(65536));
  std::array<MutableBytes, 2> places;
  const ByteVector data = pattern(1 << 20);
  for (int i = 0; i < 8; ++i) {
    EXPECT_GT(rig.mover->receive_space(places), 0u);
    rig.mover->put_data(DataIn(), Buffer::wrap(Bytes(data)), false);
  }
  EXPECT_EQ(rig.mover->receive_space(places), 0u);
  take_output(*rig.mover, 3 << 20);
  EXPECT_EQ(rig.mover->receive_space(places), 0u);
  const int before = rig.host.calls;
  take_output(*rig.mover, 2 << 20);
  EXPECT_GT(rig.host.calls, before);
  EXPECT_GT(rig.mover->receive_space(places), 0u);
}

// --- Get_Data ---

struct GetRig : Rig {
  explicit GetRig(const Parameters& p = sending(8192)) : Rig(Role::target, p) {}

  // Asks for `length` bytes at `offset`; returns the R2T as it went out.
  R2t get(std::uint32_t length, std::uint32_t offset = 0, std::uint32_t tag = 1) {
    R2t r2t;
    store_u8(reinterpret_cast<std::byte*>(&r2t.lun[1]), 3);
    r2t.initiator_task_tag = tag;
    r2t.stat_sn = 21;
    r2t.exp_cmd_sn = 22;
    r2t.max_cmd_sn = 23;
    r2t.r2t_sn = 6;
    r2t.buffer_offset = offset;
    r2t.desired_data_transfer_length = length;
    mover->get_data(r2t, pool.take(length));
    const auto pdus = say();
    EXPECT_EQ(pdus.size(), 1u);
    return pdus.empty() ? R2t() : pdus[0].as<R2t>();
  }
  static DataOut answer(const R2t& r2t, std::uint32_t done, std::uint32_t data_sn, bool final) {
    DataOut pdu;
    pdu.final = final;
    pdu.initiator_task_tag = r2t.initiator_task_tag;
    pdu.target_transfer_tag = r2t.target_transfer_tag;
    pdu.data_sn = data_sn;
    pdu.buffer_offset = r2t.buffer_offset + done;
    return pdu;
  }
  const DataCompletion& completion() {
    EXPECT_EQ(client.completions.size(), 1u);
    static const DataCompletion none{};
    return client.completions.empty() ? none : client.completions[0];
  }
};

TEST(TargetGet, R2tCarriesWhatWasGivenAndATagOfItsOwn) {
  GetRig rig;
  const R2t first = rig.get(512, 1024);
  EXPECT_EQ(first.stat_sn, 21u);
  EXPECT_EQ(first.exp_cmd_sn, 22u);
  EXPECT_EQ(first.max_cmd_sn, 23u);
  EXPECT_EQ(first.r2t_sn, 6u);
  EXPECT_EQ(first.buffer_offset, 1024u);
  EXPECT_EQ(first.desired_data_transfer_length, 512u);
  std::set<std::uint32_t> tags{first.target_transfer_tag};
  for (int i = 0; i < 20; ++i) tags.insert(rig.get(512).target_transfer_tag);
  EXPECT_EQ(tags.size(), 21u);
  EXPECT_FALSE(tags.contains(kReservedTag));
}

TEST(TargetGet, DataOutFillTheSink) {
  for (const Digests digests : {Digests{}, Digests{true, true}}) {
    Parameters p = parameters(digests);
    p.max_recv_data_segment_length = 1 << 20;
    GetRig rig(p);
    const ByteVector data = pattern(200001);
    const R2t r2t = rig.get(200001, 77);
    rig.hear(encode(rig.answer(r2t, 0, 0, false)), Bytes(data).first(100));
    rig.hear(encode(rig.answer(r2t, 100, 1, false)), Bytes(data).subspan(100, 150000));
    EXPECT_TRUE(rig.client.completions.empty());
    rig.hear(encode(rig.answer(r2t, 150100, 2, true)), Bytes(data).subspan(150100));
    EXPECT_EQ(rig.completion().kind, DataCompletion::Kind::get);
    EXPECT_EQ(rig.completion().initiator_task_tag, 1u);
    EXPECT_EQ(rig.completion().sequence_number, 6u);
    EXPECT_FALSE(rig.completion().status);
    EXPECT_TRUE(std::ranges::equal(rig.completion().buffer.bytes(), data));
    EXPECT_TRUE(rig.client.controls.empty());
  }
}

TEST(TargetGet, EmptyLastPduIsTaken) {
  GetRig rig;
  const R2t r2t = rig.get(8);
  rig.hear(encode(rig.answer(r2t, 0, 0, false)), pattern(8));
  EXPECT_TRUE(rig.client.completions.empty());
  rig.hear(encode(rig.answer(r2t, 8, 1, true)));
  EXPECT_FALSE(rig.completion().status);
  EXPECT_EQ(rig.completion().buffer.size(), 8u);
}

TEST(TargetGet, SeveralAtOnceInAnyOrder) {
  GetRig rig;
  const R2t a = rig.get(8, 0), b = rig.get(8, 8);
  rig.hear(encode(rig.answer(b, 0, 0, false)), pattern(4));
  rig.hear(encode(rig.answer(a, 0, 0, true)), pattern(8));
  rig.hear(encode(rig.answer(b, 4, 1, true)), pattern(4));
  EXPECT_EQ(rig.client.completions.size(), 2u);
}

ErrorCode answered_by(const DataOut& pdu, GetRig& rig, std::size_t length) {
  rig.hear(encode(pdu), pattern(length));
  EXPECT_TRUE(rig.client.completions.empty());
  const ErrorCode error = rig.failure();
  EXPECT_EQ(rig.completion().status, error) << "the get ends with what ended the connection";
  return error;
}

TEST(TargetGet, WrongAnswersEndTheConnection) {
  const auto wrong = [](std::size_t length, auto change) {
    GetRig rig;
    const R2t r2t = rig.get(1024, 4096);
    DataOut pdu = rig.answer(r2t, 0, 0, length == 1024);
    change(pdu);
    return answered_by(pdu, rig, length);
  };
  const errc tag = errc::bad_target_transfer_tag;
  EXPECT_EQ(wrong(1024, [](DataOut& pdu) { ++pdu.target_transfer_tag; }), tag);
  EXPECT_EQ(wrong(1024, [](DataOut& pdu) { ++pdu.initiator_task_tag; }), tag);
  EXPECT_EQ(wrong(1024, [](DataOut& pdu) { pdu.data_sn = 1; }), errc::bad_data_sn);
  EXPECT_EQ(wrong(1024, [](DataOut& pdu) { pdu.buffer_offset = 0; }), errc::bad_buffer_offset);
  EXPECT_EQ(wrong(1024, [](DataOut& pdu) { pdu.buffer_offset += 4; }), errc::bad_buffer_offset);
  EXPECT_EQ(wrong(1025, [](DataOut&) {}), errc::burst_too_long);
  EXPECT_EQ(wrong(1020, [](DataOut& pdu) { pdu.final = true; }), errc::protocol_error);
}

TEST(TargetGet, DataBeyondTheBurstEndTheConnection) {
  GetRig rig;
  const R2t r2t = rig.get(8);
  rig.hear(encode(rig.answer(r2t, 0, 0, true)), pattern(8));
  rig.hear(encode(rig.answer(r2t, 8, 1, true)), pattern(4));
  EXPECT_EQ(rig.failure(), errc::bad_target_transfer_tag);
}

TEST(TargetGet, OfNothingIsDoneWithoutAnR2t) {
  GetRig rig;
  R2t r2t;
  rig.mover->get_data(r2t, {});
  EXPECT_TRUE(rig.client.completions.empty()) << "not from inside the call";
  ASSERT_TRUE(rig.mover->deadline());
  rig.mover->expired(Time());
  EXPECT_FALSE(rig.completion().status);
  EXPECT_TRUE(rig.say().empty());
}

TEST(TargetGet, UnsolicitedDataOutGoToTheSession) {
  Rig rig(Role::target);
  DataOut pdu;
  pdu.final = true;
  pdu.initiator_task_tag = 5;
  rig.hear(encode(pdu), pattern(100));
  ASSERT_EQ(rig.client.controls.size(), 1u);
  EXPECT_EQ(to_hex(rig.client.controls[0].data.bytes()), to_hex(pattern(100)));
}

TEST(TargetGet, EndOfTaskGivesTheSinkBackAndDropsWhatStillComes) {
  GetRig rig;
  const R2t gone = rig.get(1024), other = rig.get(8, 0, 2);
  rig.hear(encode(rig.answer(gone, 0, 0, false)), pattern(512));
  rig.mover->deallocate_task_resources(1);
  EXPECT_TRUE(rig.client.completions.empty()) << "not from inside the call";
  ASSERT_TRUE(rig.mover->deadline());
  rig.mover->expired(Time());
  EXPECT_EQ(rig.completion().status, errc::task_aborted);
  EXPECT_EQ(rig.client.turns, 1);
  rig.client.completions.clear();

  rig.hear(encode(rig.answer(gone, 512, 1, true)), pattern(512));
  rig.hear(encode(rig.answer(other, 0, 0, true)), pattern(8));
  EXPECT_EQ(rig.completion().initiator_task_tag, 2u);
  // Its last PDU has come, so the tag is no longer known.
  rig.hear(encode(rig.answer(gone, 1024, 2, true)), pattern(8));
  EXPECT_EQ(rig.failure(), errc::bad_target_transfer_tag);
}

TEST(TargetGet, EndOfTaskWithinAPduStopsWritingTheSink) {
  for (const Digests digests : {Digests{}, Digests{true, true}}) {
    Parameters p = parameters(digests);
    p.max_recv_data_segment_length = 1 << 20;
    GetRig rig(p);
    const R2t r2t = rig.get(100000);
    const ByteVector bytes = wire(encode(rig.answer(r2t, 0, 0, true)), pattern(100000), digests);
    feed(*rig.mover, Bytes(bytes).first(50000));
    rig.mover->deallocate_task_resources(1);
    rig.mover->expired(Time());
    rig.client.completions.clear();  // the memory is gone
    feed(*rig.mover, Bytes(bytes).subspan(50000));
    rig.hear(encode(NopOut()));
    EXPECT_EQ(rig.client.controls.size(), 1u) << "the stream stayed in step";
  }
}

TEST(TargetGet, AbortedTagsAreForgottenInTheEnd) {
  GetRig rig;
  const R2t first = rig.get(8);
  rig.mover->deallocate_task_resources(1);
  for (int i = 0; i < 1024; ++i) {
    rig.get(8);
    rig.mover->deallocate_task_resources(1);
  }
  rig.hear(encode(rig.answer(first, 0, 0, true)), pattern(8));
  EXPECT_EQ(rig.failure(), errc::bad_target_transfer_tag);
}

// --- the end ---

TEST(TargetEnd, LeasesComeBackBeforeTheNotice) {
  GetRig rig;
  rig.get(1024);
  DataIn run;
  run.data_sn = 3;
  rig.mover->put_data(run, leased(rig, pattern(20000)), true);
  const ErrorCode reset =
      boost::system::errc::make_error_code(boost::system::errc::connection_reset);
  rig.close(reset);
  ASSERT_EQ(rig.client.completions.size(), 2u);
  for (const DataCompletion& completion : rig.client.completions)
    EXPECT_EQ(completion.status, reset);
  EXPECT_EQ(rig.client.ends, std::vector<ErrorCode>{reset});
}

TEST(TargetEnd, WithoutErrorSendsWhatIsQueued) {
  Rig rig(Role::target);
  rig.mover->send_control({encode(LogoutResponse()), {}, {}});
  rig.mover->connection_terminate();
  EXPECT_EQ(rig.mover->close_wish(), CloseWish::after_sending);
  EXPECT_TRUE(rig.client.ends.empty());
  rig.hear(encode(NopOut()));
  EXPECT_TRUE(rig.client.controls.empty()) << "nothing is told any more";
  EXPECT_EQ(rig.say().size(), 1u);
  rig.close();
  EXPECT_EQ(rig.client.ends, std::vector<ErrorCode>{ErrorCode()});
}

TEST(TargetEnd, WithErrorClosesAtOnce) {
  GetRig rig;
  rig.get(8);
  rig.mover->connection_terminate(errc::nop_timeout);
  EXPECT_EQ(rig.mover->close_wish(), CloseWish::at_once);
  EXPECT_TRUE(rig.client.ends.empty()) << "not from inside the call";
  rig.mover->connection_terminate(errc::reinstated);
  rig.close();
  EXPECT_EQ(rig.completion().status, errc::nop_timeout);
  EXPECT_EQ(rig.client.ends, std::vector<ErrorCode>{errc::nop_timeout});
}

TEST(TargetEnd, TransfersAskedForAfterwardsFail) {
  Rig rig(Role::target);
  rig.mover->connection_terminate(errc::nop_timeout);
  R2t r2t;
  r2t.desired_data_transfer_length = 8;
  rig.mover->get_data(r2t, rig.pool.take(8));
  rig.mover->put_data(DataIn(), rig.pool.take(8), true);
  rig.mover->put_data(DataIn(), rig.pool.take(8), false);
  rig.mover->send_control({encode(NopIn()), {}, {}});
  rig.close();
  ASSERT_EQ(rig.client.completions.size(), 2u);
  EXPECT_EQ(rig.client.completions[0].status, errc::nop_timeout);
}

// A client that answers each completion with another request: it ends all the same.
TEST(TargetEnd, ClientMayCallDownFromItsNotices) {
  struct Again : RecordingClient {
    void data_completion_notify(DataCompletion completion) override {
      if (--more > 0) mover->get_data(R2t(), {});
      RecordingClient::data_completion_notify(std::move(completion));
    }
    Datamover* mover = nullptr;
    int more = 5;
  };
  BufferPool pool;
  Again client;
  const auto mover = make_tcp_datamover(Role::target, {}, pool);
  client.mover = mover.get();
  mover->set_client(&client);
  mover->get_data(R2t(), {});
  mover->transport_closed({}, Time());
  EXPECT_EQ(client.completions.size(), 5u);
  EXPECT_EQ(client.ends.size(), 1u);
}

TEST(TargetEnd, ClientThatTerminatesFromANoticeHearsNoMore) {
  struct Quits : RecordingClient {
    void control_notify(ControlPdu pdu) override {
      RecordingClient::control_notify(std::move(pdu));
      mover->connection_terminate();
    }
    Datamover* mover = nullptr;
  };
  BufferPool pool;
  Quits client;
  const auto mover = make_tcp_datamover(Role::target, {}, pool);
  client.mover = mover.get();
  mover->set_client(&client);
  feed(*mover, wire(encode(NopOut())) + wire(encode(NopOut())));
  EXPECT_EQ(client.controls.size(), 1u);
  mover->transport_closed({}, Time());
}

// Data-Out of all sorts with a few bytes changed, some gets aborted meanwhile.
TEST(TargetGet, MutatedDataOut) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    GetRig rig(sending(8192));
    const R2t r2t = rig.get(1000), other = rig.get(600, 1000);
    ByteVector stream = wire(encode(rig.answer(r2t, 0, 0, false)), pattern(500)) +
                        wire(encode(rig.answer(other, 0, 0, true)), pattern(600)) +
                        wire(encode(rig.answer(r2t, 500, 1, true)), pattern(500)) +
                        wire(encode(NopOut()));
    for (int change = static_cast<int>(random() % 3); change > 0; --change) {
      const std::size_t starts[] = {0, 548, 1196};
      stream[starts[random() % 3] + random() % 48] = static_cast<std::byte>(random() & 0xff);
    }
    const std::size_t cut = random() % stream.size();
    feed(*rig.mover, Bytes(stream).first(cut), 1 + random() % 700);
    if (random() % 4 == 0) rig.mover->deallocate_task_resources(1);
    feed(*rig.mover, Bytes(stream).subspan(cut));
    rig.close();
    EXPECT_EQ(rig.client.completions.size(), 2u);
  }
}

}  // namespace
}  // namespace openiser::iscsi::testing
