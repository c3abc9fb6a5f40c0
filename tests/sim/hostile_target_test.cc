// A target that does to the initiator's memory what it may not: the real initiator ends the
// connection with the right Terminate, the command fails, and no byte outside of what was
// advertised, or that was advertised for something else, is touched or told.
#include <gtest/gtest.h>

#include <future>

#include "initiator/session.h"
#include "tests/support/daemon.h"
#include "tests/support/raw_target.h"

namespace openiser::test {
namespace {

using initiator::Session;
using rdmap::Opcode;
using rdmap::ReadRequestHeader;
using rdmap::RemoteMemory;
using rdmap::Stag;
using rdmap::TaggedHeader;

constexpr std::uint16_t kBlocks = 8;
constexpr std::size_t kSize = kBlocks * kBlock;
constexpr std::byte kUntouched{0x55};

class HostileTargetTest : public ::testing::Test {
 protected:
  // Logs in, sends one command, and ends; in a thread of its own, as the test is the target.
  void begin(std::uint8_t opcode) {
    fate_ = std::async(std::launch::async, [this, opcode] {
      initiator::SessionOptions options;
      options.initiator_name = "iqn.2026-11.org.example:host";
      const auto session =
          Session::open(initiator::parse_url("iser://127.0.0.1:" + std::to_string(target_.port()) +
                                             "/" + kTargetName + "/0?wire=rdma-first"),
                        options);
      initiator::Command command;
      command.cdb = block_command(opcode, 0, 0, 0, kBlocks).cdb;
      if (opcode == kRead10) {
        command.data_in = MutableBytes(memory_).subspan(kSize, kSize);
      } else {
        command.data_out = MutableBytes(memory_).subspan(kSize, kSize);
      }
      session->execute(command);
      return command.error;
    });
    ASSERT_TRUE(target_.accept());
    command_ = target_.command();
    ASSERT_TRUE(command_);
  }
  RemoteMemory sink() const { return command_->memory.read.value_or(RemoteMemory{}); }
  RemoteMemory source() const { return command_->memory.write.value_or(RemoteMemory{}); }
  RawIwarp& wire() { return target_.peer().iwarp; }

  void write(RemoteMemory where, std::size_t size) {
    EXPECT_TRUE(wire().give(ulpdu(Opcode::rdma_write,
                                  TaggedHeader{.stag = where.stag, .offset = where.offset},
                                  ByteVector(size, std::byte{0xee}))));
  }
  void read(RemoteMemory where, std::uint32_t size) {
    EXPECT_TRUE(wire().give(read_request_ulpdu({.sink = Stag{1},
                                                .sink_offset = 0,
                                                .size = size,
                                                .source = where.stag,
                                                .source_offset = where.offset},
                                               wire().read_msn++)));
  }
  static RemoteMemory moved(RemoteMemory where, std::uint64_t by) {
    return {where.stag, where.offset + by};
  }
  static RemoteMemory other(RemoteMemory where) {
    return {Stag{where.stag.value ^ 0x100}, where.offset};
  }

  // The connection ends so, the command with an error, and the memory is as it was.
  void expect_end(const std::string& terminate) {
    EXPECT_EQ(wire().fate(), terminate);
    target_.peer().socket.close();
    EXPECT_NE(fate_.get(), ErrorCode());
    EXPECT_EQ(memory_, ByteVector(3 * kSize, kUntouched));
  }

  const QuietLog quiet;
  ByteVector memory_{3 * kSize, kUntouched};  // the command's is the middle
  RawTarget target_;
  std::optional<RawCommand> command_;
  std::future<ErrorCode> fate_;
};

TEST_F(HostileTargetTest, AGoodReadIsDone) {
  begin(kRead10);
  write(sink(), kSize);
  ASSERT_TRUE(target_.peer().send(target_.good(*command_)));
  ByteVector expected(3 * kSize, kUntouched);
  std::fill_n(expected.begin() + kSize, kSize, std::byte{0xee});
  const auto next = target_.peer().receive();  // the logout
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pdu.bhs.opcode(), iscsi::Opcode::logout_request);
  target_.peer().socket.close();
  EXPECT_EQ(fate_.get(), ErrorCode());
  EXPECT_EQ(memory_, expected);
}

TEST_F(HostileTargetTest, WritesBehindTheEnd) {
  begin(kRead10);
  write(moved(sink(), kSize - 4), 8);
  expect_end("1/1/01");
}

TEST_F(HostileTargetTest, WritesBeforeTheStart) {
  begin(kRead10);
  write(moved(sink(), -std::uint64_t{4}), 8);
  expect_end("1/1/01");
}

TEST_F(HostileTargetTest, WritesThatWrap) {
  begin(kRead10);
  write({sink().stag, UINT64_MAX - 3}, 8);
  expect_end("1/1/03");
}

TEST_F(HostileTargetTest, WritesToAnotherStag) {
  begin(kRead10);
  write(other(sink()), 8);
  expect_end("1/1/00");
}

TEST_F(HostileTargetTest, WritesToWhatMayOnlyBeRead) {
  begin(kWrite10);
  write(source(), 8);
  expect_end("0/1/02");
}

TEST_F(HostileTargetTest, ReadsOfWhatMayOnlyBeWritten) {
  begin(kRead10);
  read(sink(), 8);
  expect_end("0/1/02");
}

TEST_F(HostileTargetTest, ReadsBehindTheEnd) {
  begin(kWrite10);
  read(moved(source(), kSize - 4), 8);
  expect_end("0/1/01");
}

TEST_F(HostileTargetTest, ReadsBeforeTheStart) {
  begin(kWrite10);
  read(moved(source(), -std::uint64_t{4}), 8);
  expect_end("0/1/01");
}

TEST_F(HostileTargetTest, ReadsOfEverything) {
  begin(kWrite10);
  read(source(), 0xffffffff);
  expect_end("0/1/01");
}

TEST_F(HostileTargetTest, ReadsThatWrap) {
  begin(kWrite10);
  read({source().stag, UINT64_MAX - 3}, 8);
  expect_end("0/1/04");
}

TEST_F(HostileTargetTest, ReadsOfAnotherStag) {
  begin(kWrite10);
  read(other(source()), 8);
  expect_end("0/1/00");
}

// fault 53.
TEST_F(HostileTargetTest, InvalidationOfWhatNeverWas) {
  begin(kRead10);
  const auto response = target_.peer().message({encode(target_.good(*command_)), {}, {}});
  ASSERT_TRUE(wire().send(response, Opcode::send_invalidate, other(sink()).stag));
  expect_end("0/1/09");
}

// The command is over, and with it every right to its memory (RFC 7145 section 7.3.2).
TEST_F(HostileTargetTest, WritesBehindTheResponse) {
  begin(kRead10);
  ASSERT_TRUE(target_.peer().send(target_.good(*command_)));
  ASSERT_TRUE(target_.peer().receive()) << "a logout: the response has been seen";
  write(sink(), 8);
  EXPECT_EQ(wire().fate(), "1/1/00");
  target_.peer().socket.close();
  EXPECT_EQ(fate_.get(), ErrorCode()) << "it was answered before";
  EXPECT_EQ(memory_, ByteVector(3 * kSize, kUntouched));
}

TEST_F(HostileTargetTest, AResponseToNoCommand) {
  begin(kRead10);
  RawCommand wrong = *command_;
  wrong.command.initiator_task_tag ^= 0x4000;
  ASSERT_TRUE(target_.peer().send(target_.good(wrong)));
  expect_end("closed");
}

TEST_F(HostileTargetTest, DataInAsAMessage) {
  begin(kRead10);
  iscsi::DataIn data;
  data.initiator_task_tag = command_->command.initiator_task_tag;
  ASSERT_TRUE(target_.peer().send(data));
  expect_end("closed");
}

}  // namespace
}  // namespace openiser::test
