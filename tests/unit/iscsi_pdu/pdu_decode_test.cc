// What decoding refuses, what it lets pass, and that no 48 bytes do harm.
#include <gtest/gtest.h>

#include <random>

#include "iscsi/errors.h"
#include "iscsi/pdu/pdu.h"

namespace openiser::iscsi {
namespace {

template <class T>
ErrorCode error_of(const Bhs& bhs) {
  const Result<T> result = decode<T>(bhs);
  return result ? ErrorCode() : result.error();
}

Bhs with_byte(Bhs bhs, std::size_t at, std::uint8_t value) {
  store_u8(&bhs.raw[at], value);
  return bhs;
}
template <class T>
Bhs without_final(const T& pdu) {
  Bhs bhs = encode(pdu);
  bhs.raw[1] &= std::byte{0x7f};
  return bhs;
}

R2t sample_r2t() {
  R2t pdu;
  pdu.desired_data_transfer_length = 512;
  return pdu;
}

template <class T>
void refuses_other_opcodes() {
  unsigned accepted = 0;
  for (unsigned opcode = 0; opcode < 0x40; ++opcode) {
    Bhs bhs;
    store_u8(&bhs.raw[0], static_cast<std::uint8_t>(opcode));
    if (error_of<T>(bhs) != errc::wrong_opcode) ++accepted;
  }
  EXPECT_EQ(accepted, 1u);
}

TEST(PduDecode, EachKindTakesOneOpcode) {
  refuses_other_opcodes<ScsiCommand>();
  refuses_other_opcodes<ScsiResponse>();
  refuses_other_opcodes<TaskManagementRequest>();
  refuses_other_opcodes<TaskManagementResponse>();
  refuses_other_opcodes<DataOut>();
  refuses_other_opcodes<DataIn>();
  refuses_other_opcodes<R2t>();
  refuses_other_opcodes<AsyncMessage>();
  refuses_other_opcodes<TextRequest>();
  refuses_other_opcodes<TextResponse>();
  refuses_other_opcodes<LoginRequest>();
  refuses_other_opcodes<LoginResponse>();
  refuses_other_opcodes<LogoutRequest>();
  refuses_other_opcodes<LogoutResponse>();
  refuses_other_opcodes<SnackRequest>();
  refuses_other_opcodes<Reject>();
  refuses_other_opcodes<NopOut>();
  refuses_other_opcodes<NopIn>();
}

TEST(PduDecode, FirstBitMustBeOneWhereTheFigureHasAOne) {
  EXPECT_EQ(error_of<ScsiResponse>(without_final(ScsiResponse())), errc::bad_field);
  EXPECT_EQ(error_of<TaskManagementRequest>(without_final(TaskManagementRequest())),
            errc::bad_field);
  EXPECT_EQ(error_of<TaskManagementResponse>(without_final(TaskManagementResponse())),
            errc::bad_field);
  EXPECT_EQ(error_of<R2t>(without_final(sample_r2t())), errc::bad_field);
  EXPECT_EQ(error_of<AsyncMessage>(without_final(AsyncMessage())), errc::bad_field);
  EXPECT_EQ(error_of<LogoutRequest>(without_final(LogoutRequest())), errc::bad_field);
  EXPECT_EQ(error_of<LogoutResponse>(without_final(LogoutResponse())), errc::bad_field);
  EXPECT_EQ(error_of<SnackRequest>(without_final(SnackRequest())), errc::bad_field);
  EXPECT_EQ(error_of<Reject>(without_final(Reject())), errc::bad_field);
  EXPECT_EQ(error_of<NopOut>(without_final(NopOut())), errc::bad_field);
  EXPECT_EQ(error_of<NopIn>(without_final(NopIn())), errc::bad_field);
}

TEST(PduDecode, ScsiCommandRefusesReservedAttributes) {
  const Bhs bhs = encode(ScsiCommand());
  for (std::uint8_t attribute = 0; attribute < 8; ++attribute) {
    EXPECT_EQ(error_of<ScsiCommand>(with_byte(bhs, 1, 0x80 | attribute)),
              attribute <= 4 ? ErrorCode() : ErrorCode(errc::bad_field));
  }
}

TEST(PduDecode, ScsiCommandNeedsWriteOrFinal) {
  EXPECT_EQ(error_of<ScsiCommand>(with_byte(encode(ScsiCommand()), 1, 0x41)), errc::bad_field);
  EXPECT_EQ(error_of<ScsiCommand>(with_byte(encode(ScsiCommand()), 1, 0x21)), ErrorCode());
}

TEST(PduDecode, ScsiCommandWithLengthNeedsADirection) {
  ScsiCommand pdu;
  pdu.expected_data_transfer_length = 1;
  EXPECT_EQ(error_of<ScsiCommand>(encode(pdu)), errc::bad_field);
  pdu.read = true;
  EXPECT_EQ(error_of<ScsiCommand>(encode(pdu)), ErrorCode());
}

TEST(PduDecode, TasksNeedATag) {
  ScsiCommand command;
  command.initiator_task_tag = kReservedTag;
  EXPECT_EQ(error_of<ScsiCommand>(encode(command)), errc::bad_field);
  TextRequest text;
  text.initiator_task_tag = kReservedTag;
  EXPECT_EQ(error_of<TextRequest>(encode(text)), errc::bad_field);
  LogoutRequest logout;
  logout.initiator_task_tag = kReservedTag;
  EXPECT_EQ(error_of<LogoutRequest>(encode(logout)), errc::bad_field);
  TaskManagementRequest management;
  management.initiator_task_tag = kReservedTag;
  EXPECT_EQ(error_of<TaskManagementRequest>(encode(management)), errc::bad_field);
}

TEST(PduDecode, OverflowAndUnderflowExcludeEachOther) {
  EXPECT_EQ(error_of<ScsiResponse>(with_byte(encode(ScsiResponse()), 1, 0x86)), errc::bad_field);
  EXPECT_EQ(error_of<ScsiResponse>(with_byte(encode(ScsiResponse()), 1, 0x98)), errc::bad_field);
  EXPECT_EQ(error_of<ScsiResponse>(with_byte(encode(ScsiResponse()), 1, 0x94)), ErrorCode());
  EXPECT_EQ(error_of<DataIn>(with_byte(encode(DataIn()), 1, 0x87)), errc::bad_field);
  EXPECT_EQ(error_of<DataIn>(with_byte(encode(DataIn()), 1, 0x86)), ErrorCode());
}

TEST(PduDecode, ResidualBitsOfAFailedCommandAreIgnored) {
  const Result<ScsiResponse> got =
      decode<ScsiResponse>(with_byte(with_byte(encode(ScsiResponse()), 1, 0x9e), 2, 1));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->overflow || got->underflow || got->bidi_overflow || got->bidi_underflow);
}

TEST(PduDecode, DataInWithStatusIsFinal) {
  EXPECT_EQ(error_of<DataIn>(with_byte(encode(DataIn()), 1, 0x01)), errc::bad_field);
}

TEST(PduDecode, R2tAsksForSomethingUnderATag) {
  R2t pdu = sample_r2t();
  pdu.target_transfer_tag = kReservedTag;
  EXPECT_EQ(error_of<R2t>(encode(pdu)), errc::bad_field);
  pdu = sample_r2t();
  pdu.desired_data_transfer_length = 0;
  EXPECT_EQ(error_of<R2t>(encode(pdu)), errc::bad_field);
}

TEST(PduDecode, HeaderOnlyPdusHaveNoSegments) {
  Bhs bhs = encode(sample_r2t());
  bhs.set_data_segment_length(4);
  EXPECT_EQ(error_of<R2t>(bhs), errc::bad_field);
  bhs = encode(TaskManagementRequest());
  bhs.set_total_ahs_length(8);
  EXPECT_EQ(error_of<TaskManagementRequest>(bhs), errc::bad_field);
  bhs = encode(LogoutRequest());
  bhs.set_data_segment_length(1);
  EXPECT_EQ(error_of<LogoutRequest>(bhs), errc::bad_field);
}

TEST(PduDecode, TextThatContinuesIsNotFinal) {
  EXPECT_EQ(error_of<TextRequest>(with_byte(encode(TextRequest()), 1, 0xc0)), errc::bad_field);
  EXPECT_EQ(error_of<TextResponse>(with_byte(encode(TextResponse()), 1, 0xc0)), errc::bad_field);
}

TEST(PduDecode, TextResponseThatIsNotFinalHasATag) {
  TextResponse pdu;
  pdu.final = false;
  EXPECT_EQ(error_of<TextResponse>(encode(pdu)), errc::bad_field);
  pdu.target_transfer_tag = 1;
  EXPECT_EQ(error_of<TextResponse>(encode(pdu)), ErrorCode());
}

TEST(PduDecode, LoginThatContinuesDoesNotTransit) {
  EXPECT_EQ(error_of<LoginRequest>(with_byte(encode(LoginRequest()), 1, 0xc7)), errc::bad_field);
  EXPECT_EQ(error_of<LoginResponse>(with_byte(encode(LoginResponse()), 1, 0xc7)), errc::bad_field);
}

TEST(PduDecode, NopOutWithoutATagIsImmediate) {
  NopOut pdu;
  pdu.immediate = false;
  EXPECT_EQ(error_of<NopOut>(encode(pdu)), errc::bad_field);
  pdu.initiator_task_tag = 1;
  EXPECT_EQ(error_of<NopOut>(encode(pdu)), ErrorCode());
}

TEST(PduDecode, NopInDoesNotAnswerAndAsk) {
  NopIn pdu;
  pdu.initiator_task_tag = 1;
  pdu.target_transfer_tag = 2;
  EXPECT_EQ(error_of<NopIn>(encode(pdu)), errc::bad_field);
}

TEST(PduDecode, ReservedBitsAreIgnored) {
  EXPECT_EQ(error_of<NopIn>(with_byte(encode(NopIn()), 1, 0xff)), ErrorCode());
  EXPECT_EQ(error_of<NopIn>(with_byte(encode(NopIn()), 0, 0xe0)), ErrorCode());
  EXPECT_EQ(error_of<ScsiCommand>(with_byte(encode(ScsiCommand()), 1, 0x99)), ErrorCode());
  EXPECT_EQ(error_of<R2t>(with_byte(encode(sample_r2t()), 2, 0x55)), ErrorCode());
}

// What is decoded is encoded to something that decodes to the same.
template <class T>
void survives(const Bhs& bhs) {
  const Result<T> once = decode<T>(bhs);
  if (!once) {
    EXPECT_TRUE(once.error() == errc::wrong_opcode || once.error() == errc::bad_field);
    return;
  }
  const Bhs again = encode(*once);
  const Result<T> twice = decode<T>(again);
  ASSERT_TRUE(twice);
  EXPECT_EQ(encode(*twice).raw, again.raw);
}

TEST(PduDecode, AnyBytesDecodeOrFail) {
  std::mt19937 random(7143);
  for (int round = 0; round < 20000; ++round) {
    Bhs bhs;
    for (std::byte& b : bhs.raw) b = static_cast<std::byte>(random() & 0xff);
    survives<ScsiCommand>(with_byte(bhs, 0, 0x01));
    survives<ScsiResponse>(with_byte(bhs, 0, 0x21));
    survives<TaskManagementRequest>(with_byte(bhs, 0, 0x02));
    survives<TaskManagementResponse>(with_byte(bhs, 0, 0x22));
    survives<DataOut>(with_byte(bhs, 0, 0x05));
    survives<DataIn>(with_byte(bhs, 0, 0x25));
    survives<R2t>(with_byte(bhs, 0, 0x31));
    survives<AsyncMessage>(with_byte(bhs, 0, 0x32));
    survives<TextRequest>(with_byte(bhs, 0, 0x04));
    survives<TextResponse>(with_byte(bhs, 0, 0x24));
    survives<LoginRequest>(with_byte(bhs, 0, 0x03));
    survives<LoginResponse>(with_byte(bhs, 0, 0x23));
    survives<LogoutRequest>(with_byte(bhs, 0, 0x06));
    survives<LogoutResponse>(with_byte(bhs, 0, 0x26));
    survives<SnackRequest>(with_byte(bhs, 0, 0x10));
    survives<Reject>(with_byte(bhs, 0, 0x3f));
    survives<NopOut>(with_byte(bhs, 0, 0x00));
    survives<NopIn>(with_byte(bhs, 0, 0x20));
  }
}

}  // namespace
}  // namespace openiser::iscsi
