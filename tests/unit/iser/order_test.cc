// What is posted when, with a queue pair that completes works only when a test says so: reads that
// take their time, which the other providers of the tests answer too soon.
#include <gtest/gtest.h>

#include <deque>

#include "tests/support/iser.h"

namespace openiser::test {
namespace {

using Kind = rdmap::Completion::Kind;

class ManualQueuePair final : public rdmap::QueuePair {
 public:
  void set_client(rdmap::QueuePairClient* client) override { client_ = client; }
  rdmap::Capabilities capabilities() const override {
    return {
        .outbound_reads = 4, .inbound_reads = 4, .zero_based_offsets = true, .max_send = 1 << 20};
  }
  Result<rdmap::MemoryRegion> register_memory(MutableBytes memory, rdmap::Access) override {
    return rdmap::MemoryRegion(this, {1}, 0, memory.size());
  }
  void post_receive(Buffer buffer, rdmap::WorkId) override {
    receives.push_back(std::move(buffer));
  }
  void post_send(rdmap::SendWork work) override { sends.push_back(std::move(work)); }
  void post_write(rdmap::WriteWork work) override { writes.push_back(std::move(work)); }
  void post_read(rdmap::ReadWork work) override { reads.push_back(std::move(work)); }
  void flush() override {}
  std::size_t poll(std::span<rdmap::Completion> out) override {
    std::size_t n = 0;
    for (; n < out.size() && !completions_.empty(); ++n) {
      out[n] = std::move(completions_.front());
      completions_.pop_front();
    }
    return n;
  }
  void disconnect(ErrorCode reason) override { disconnected_with = reason; }

  void establish() { client_->established({.capabilities = capabilities(), .private_data = {}}); }
  void receive(Bytes message) {
    arrive(message);
    client_->completions_ready();
  }
  // Comes in with what comes next.
  void arrive(Bytes message) {
    Buffer buffer = std::move(receives.front());
    receives.pop_front();
    buffer.resize(message.size());
    std::copy(message.begin(), message.end(), buffer.data());
    add(Kind::receive, 0, std::move(buffer));
  }
  void complete_read(std::size_t n = 0) {
    auto work = std::move(reads.at(n));
    reads.erase(reads.begin() + static_cast<std::ptrdiff_t>(n));
    add(Kind::read, work.id, std::move(work.sink));
    client_->completions_ready();
  }
  Opcode sent(std::size_t n) const {
    Bhs bhs;
    std::copy_n(sends.at(n).head.data() + 28, 48, bhs.raw.begin());
    return bhs.opcode();
  }

  std::deque<Buffer> receives;
  std::vector<rdmap::SendWork> sends;
  std::vector<rdmap::WriteWork> writes;
  std::vector<rdmap::ReadWork> reads;
  std::optional<ErrorCode> disconnected_with;

 private:
  void deregister(rdmap::Stag) override {}
  void add(Kind kind, rdmap::WorkId id, Buffer buffer) {
    auto& completion = completions_.emplace_back();
    completion.kind = kind;
    completion.id = id;
    completion.buffer = std::move(buffer);
  }

  rdmap::QueuePairClient* client_ = nullptr;
  std::deque<rdmap::Completion> completions_;
};

class IserOrder : public ::testing::Test {
 protected:
  IserOrder() {
    auto owned = std::make_unique<ManualQueuePair>();
    queue_pair = owned.get();
    target = IserConnection::create(std::move(owned), {.role = Role::target}, pool, nullptr);
    EXPECT_TRUE(target->allocate_connection_resources({}));
    target->enable_datamover(client);
    queue_pair->establish();
  }
  void command(std::uint32_t tag) {
    std::vector<std::byte> message(28);
    iser::encode(iser::ControlHeader{.write = rdmap::RemoteMemory{{7}, 0}}, Dialect::rfc7145,
                 message);
    const Bhs bhs = iscsi::encode(iscsi::ScsiCommand{
        .write = true, .initiator_task_tag = tag, .expected_data_transfer_length = 1000});
    message.insert(message.end(), bhs.raw.begin(), bhs.raw.end());
    queue_pair->receive(message);
  }
  void get(std::uint32_t tag, std::uint32_t offset = 0) {
    target->get_data(
        {.initiator_task_tag = tag, .buffer_offset = offset, .desired_data_transfer_length = 10},
        sinks.lease(10));
  }
  void send(const Bhs& bhs) { target->send_control(control_pdu(bhs), nullptr); }

  BufferPool pool;
  CountingOwner sinks;
  DatamoverRecorder client;
  ManualQueuePair* queue_pair;
  std::unique_ptr<IserConnection> target;
};

TEST_F(IserOrder, ReadsBeyondTheLimitWait) {
  command(1);
  for (std::uint32_t i = 0; i < 6; ++i) get(1, i * 10);
  EXPECT_EQ(queue_pair->reads.size(), 4U);
  queue_pair->complete_read();
  ASSERT_EQ(queue_pair->reads.size(), 4U);
  EXPECT_EQ(queue_pair->reads.back().source.offset, 40U);
}

TEST_F(IserOrder, ResponseWaitsForTheReadsOfItsTask) {
  command(1);
  command(2);
  get(1);
  get(2);
  send(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = 1}));
  EXPECT_TRUE(queue_pair->sends.empty());
  queue_pair->complete_read(1);  // that of the other task
  EXPECT_TRUE(queue_pair->sends.empty());
  queue_pair->complete_read(0);
  EXPECT_EQ(queue_pair->sends.size(), 1U);
}

TEST_F(IserOrder, WhatComesBehindAHeldResponseKeepsItsPlace) {
  command(1);
  get(1);
  send(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = 1}));
  send(iscsi::encode(iscsi::TextResponse{}));
  EXPECT_TRUE(queue_pair->sends.empty());
  queue_pair->complete_read();
  ASSERT_EQ(queue_pair->sends.size(), 2U);
  EXPECT_EQ(queue_pair->sent(0), Opcode::scsi_response);
  EXPECT_EQ(queue_pair->sent(1), Opcode::text_response);
}

TEST_F(IserOrder, AnswerToAnAbortWaitsForTheReadsOfAbortedTasksAlone) {
  command(1);
  command(2);
  get(1);
  get(2);
  target->deallocate_task_resources(1);
  send(iscsi::encode(iscsi::TaskManagementResponse{}));
  EXPECT_TRUE(queue_pair->sends.empty());
  queue_pair->complete_read(0);
  EXPECT_EQ(queue_pair->sends.size(), 1U);
  EXPECT_EQ(queue_pair->reads.size(), 1U);
}

TEST_F(IserOrder, NoReadStartsOnceTheConnectionIsToEnd) {
  command(1);
  for (std::uint32_t i = 0; i < 6; ++i) get(1, i * 10);
  target->connection_terminate({});
  queue_pair->complete_read();
  EXPECT_EQ(queue_pair->reads.size(), 3U);
  EXPECT_TRUE(queue_pair->disconnected_with);
}

TEST_F(IserOrder, GracefulEndDoesNotWaitForReads) {
  command(1);
  get(1);
  send(iscsi::encode(iscsi::ScsiResponse{.initiator_task_tag = 1}));
  send(iscsi::encode(iscsi::LogoutResponse{}));
  target->connection_terminate({});
  EXPECT_EQ(queue_pair->sends.size(), 2U);
}

class InitiatorOrder : public ::testing::Test {
 protected:
  void start(iser::Settings settings, iscsi::Parameters parameters) {
    auto owned = std::make_unique<ManualQueuePair>();
    queue_pair = owned.get();
    initiator = IserConnection::create(std::move(owned), settings, pool, nullptr);
    EXPECT_TRUE(initiator->allocate_connection_resources(parameters));
    initiator->enable_datamover(client);
    queue_pair->establish();
  }
  void command() {
    initiator->send_control(control_pdu(iscsi::encode(iscsi::ScsiCommand{})), nullptr);
  }

  BufferPool pool;
  DatamoverRecorder client;
  ManualQueuePair* queue_pair = nullptr;
  std::unique_ptr<IserConnection> initiator;
};

// What the session sends in answer to a PDU right behind the HelloReply comes after what it sent
// before.
TEST_F(InitiatorOrder, NothingGetsAheadOfWhatWaitedForTheHelloReply) {
  iscsi::Parameters parameters;
  parameters.iser_hello_required = iscsi::Parameters::HelloRequired::yes;
  start({.role = Role::initiator}, parameters);
  client.on_control = [&](ControlPdu&) { command(); };
  initiator->send_control(control_pdu(iscsi::encode(iscsi::TextRequest{})), nullptr);
  std::vector<std::byte> reply(28);
  iser::encode(iser::HelloReply{false, 10, 10, 2}, Dialect::rfc7145, reply);
  queue_pair->arrive(reply);
  std::vector<std::byte> message(28);
  iser::encode(iser::ControlHeader{}, Dialect::rfc7145, message);
  const Bhs async = iscsi::encode(iscsi::AsyncMessage{});
  message.insert(message.end(), async.raw.begin(), async.raw.end());
  queue_pair->receive(message);
  ASSERT_EQ(queue_pair->sends.size(), 3U);  // the Hello is the first
  EXPECT_EQ(queue_pair->sent(1), Opcode::text_request);
  EXPECT_EQ(queue_pair->sent(2), Opcode::scsi_command);
}

// RFC 7145 section 8.1.1.1.
TEST_F(InitiatorOrder, NoRequestGoesWithoutAReceiveForItsAnswer) {
  start({.role = Role::initiator, .command_window = 4}, {});
  for (std::uint32_t i = 0; i < 300; ++i) {
    initiator->send_control(control_pdu(iscsi::encode(iscsi::ScsiCommand{.initiator_task_tag = i})),
                            nullptr);
    EXPECT_GT(queue_pair->receives.size(), i);
  }
}

}  // namespace
}  // namespace openiser::test
