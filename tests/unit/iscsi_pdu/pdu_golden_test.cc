// Each PDU against bytes laid out by hand from the figures of RFC 7143 section 11, four bytes a
// group, with every field set to something of its own: encoding gives the bytes, decoding the
// fields back.
#include <gtest/gtest.h>

#include "iscsi/errors.h"
#include "iscsi/pdu/pdu.h"
#include "tests/support/bytes.h"

namespace openiser::iscsi {
namespace {

using test::hex;
using test::to_hex;

Lun lun(std::uint64_t value) {
  Lun lun;
  store_be64(lun.data(), value);
  return lun;
}

Bhs bhs_of(std::string_view digits) {
  const test::ByteVector bytes = hex(digits);
  EXPECT_EQ(bytes.size(), kBhsSize);
  Bhs bhs;
  std::copy_n(bytes.begin(), std::min(bytes.size(), kBhsSize), bhs.raw.begin());
  return bhs;
}

// `pdu` is encoded to `digits`; what is decoded from them is encoded to the same again. The fields
// are compared by the caller where encoding could hide a mistake made twice.
template <class T>
T golden(const T& pdu, std::string_view digits) {
  const Bhs expected = bhs_of(digits);
  EXPECT_EQ(to_hex(encode(pdu).raw), to_hex(expected.raw));
  const Result<T> decoded = decode<T>(expected);
  EXPECT_TRUE(decoded) << decoded.error().message();
  if (!decoded) return {};
  EXPECT_EQ(to_hex(encode(*decoded).raw), to_hex(expected.raw));
  return *decoded;
}

TEST(PduGolden, ScsiCommandOfAWrite) {
  ScsiCommand pdu;
  pdu.immediate = true;
  pdu.final = true;
  pdu.write = true;
  pdu.attribute = TaskAttribute::ordered;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.expected_data_transfer_length = 0x21222324;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  for (int i = 0; i < 16; ++i) pdu.cdb[i] = static_cast<std::byte>(0xa0 + i);
  const ScsiCommand got = golden(pdu,
                                 "41a20000 00000000 01020304 05060708 11121314 21222324 31323334 "
                                 "41424344 a0a1a2a3 a4a5a6a7 a8a9aaab acadaeaf");
  EXPECT_TRUE(got.immediate);
  EXPECT_TRUE(got.final);
  EXPECT_FALSE(got.read);
  EXPECT_TRUE(got.write);
  EXPECT_EQ(got.attribute, TaskAttribute::ordered);
  EXPECT_EQ(got.expected_data_transfer_length, 0x21222324u);
  EXPECT_EQ(got.cmd_sn, 0x31323334u);
  EXPECT_EQ(got.exp_stat_sn, 0x41424344u);
}

TEST(PduGolden, ScsiCommandOfAReadAndOfBoth) {
  ScsiCommand pdu;
  pdu.read = true;
  pdu.attribute = TaskAttribute::head_of_queue;
  golden(
      pdu,
      "01c30000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000000");
  pdu.write = true;
  pdu.final = false;
  pdu.attribute = TaskAttribute::aca;
  const ScsiCommand got = golden(pdu,
                                 "01640000 00000000 00000000 00000000 00000000 00000000 00000000 "
                                 "00000000 00000000 00000000 00000000 00000000");
  EXPECT_TRUE(got.read && got.write && !got.final && !got.immediate);
}

TEST(PduGolden, ScsiResponse) {
  ScsiResponse pdu;
  pdu.bidi_overflow = true;
  pdu.underflow = true;
  pdu.status = 0x02;
  pdu.initiator_task_tag = 0x11121314;
  pdu.snack_tag = 0x21222324;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.exp_data_sn = 0x61626364;
  pdu.bidi_residual_count = 0x71727374;
  pdu.residual_count = 0x81828384;
  const ScsiResponse got = golden(pdu,
                                  "21920002 00000000 00000000 00000000 11121314 21222324 31323334 "
                                  "41424344 51525354 61626364 71727374 81828384");
  EXPECT_TRUE(got.bidi_overflow && got.underflow && !got.bidi_underflow && !got.overflow);
  EXPECT_EQ(got.response, 0);
  EXPECT_EQ(got.status, 2);
  EXPECT_EQ(got.residual_count, 0x81828384u);
  EXPECT_EQ(got.bidi_residual_count, 0x71727374u);

  ScsiResponse other;
  other.bidi_underflow = true;
  other.overflow = true;
  const ScsiResponse back = golden(other,
                                   "218c0000 00000000 00000000 00000000 00000000 00000000 00000000 "
                                   "00000000 00000000 00000000 00000000 00000000");
  EXPECT_TRUE(back.bidi_underflow && back.overflow && !back.bidi_overflow && !back.underflow);

  ScsiResponse failed;
  failed.response = 1;
  golden(
      failed,
      "21800100 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000000");
}

TEST(PduGolden, TaskManagementRequest) {
  TaskManagementRequest pdu;
  pdu.function = 1;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.referenced_task_tag = 0x21222324;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  pdu.ref_cmd_sn = 0x51525354;
  pdu.exp_data_sn = 0x61626364;
  const TaskManagementRequest got =
      golden(pdu,
             "42810000 00000000 01020304 05060708 11121314 21222324 31323334 41424344 51525354 "
             "61626364 00000000 00000000");
  EXPECT_EQ(got.function, 1);
  EXPECT_EQ(got.referenced_task_tag, 0x21222324u);
  EXPECT_EQ(got.ref_cmd_sn, 0x51525354u);
  EXPECT_EQ(got.exp_data_sn, 0x61626364u);
}

TEST(PduGolden, TaskManagementResponse) {
  TaskManagementResponse pdu;
  pdu.response = TaskManagementAnswer::rejected;
  pdu.initiator_task_tag = 0x11121314;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  const TaskManagementResponse got =
      golden(pdu,
             "2280ff00 00000000 00000000 00000000 11121314 00000000 31323334 41424344 51525354 "
             "00000000 00000000 00000000");
  EXPECT_EQ(got.response, TaskManagementAnswer::rejected);
}

TEST(PduGolden, DataOut) {
  DataOut pdu;
  pdu.final = true;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.target_transfer_tag = 0x21222324;
  pdu.exp_stat_sn = 0x41424344;
  pdu.data_sn = 0x61626364;
  pdu.buffer_offset = 0x71727374;
  const DataOut got = golden(pdu,
                             "05800000 00000000 01020304 05060708 11121314 21222324 00000000 "
                             "41424344 00000000 61626364 71727374 00000000");
  EXPECT_TRUE(got.final);
  EXPECT_EQ(got.data_sn, 0x61626364u);
  EXPECT_EQ(got.buffer_offset, 0x71727374u);
  EXPECT_EQ(got.exp_stat_sn, 0x41424344u);
}

TEST(PduGolden, DataInWithStatus) {
  DataIn pdu;
  pdu.final = true;
  pdu.acknowledge = true;
  pdu.underflow = true;
  pdu.has_status = true;
  pdu.status = 0x04;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.target_transfer_tag = 0x21222324;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.data_sn = 0x61626364;
  pdu.buffer_offset = 0x71727374;
  pdu.residual_count = 0x81828384;
  const DataIn got = golden(pdu,
                            "25c30004 00000000 01020304 05060708 11121314 21222324 31323334 "
                            "41424344 51525354 61626364 71727374 81828384");
  EXPECT_TRUE(got.final && got.acknowledge && got.underflow && got.has_status && !got.overflow);
  EXPECT_EQ(got.status, 4);
  EXPECT_EQ(got.residual_count, 0x81828384u);
}

TEST(PduGolden, DataInWithoutStatusHasNoResidual) {
  DataIn pdu;
  pdu.data_sn = 7;
  golden(
      pdu,
      "25000000 00000000 00000000 00000000 00000000 ffffffff 00000000 00000000 00000000 00000007 "
      "00000000 00000000");
  // The fields that S would make valid are ignored (RFC 7143 section 11.7.3).
  const Result<DataIn> got = decode<DataIn>(
      bhs_of("25060002 00000000 00000000 00000000 00000001 ffffffff 00000000 00000000 00000000 "
             "00000000 00000000 00000009"));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->overflow || got->underflow);
  EXPECT_EQ(got->status, 0);
  EXPECT_EQ(got->residual_count, 0u);
}

TEST(PduGolden, R2t) {
  R2t pdu;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.target_transfer_tag = 0x21222324;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.r2t_sn = 0x61626364;
  pdu.buffer_offset = 0x71727374;
  pdu.desired_data_transfer_length = 0x81828384;
  const R2t got = golden(pdu,
                         "31800000 00000000 01020304 05060708 11121314 21222324 31323334 41424344 "
                         "51525354 61626364 71727374 81828384");
  EXPECT_EQ(got.stat_sn, 0x31323334u);
  EXPECT_EQ(got.exp_cmd_sn, 0x41424344u);
  EXPECT_EQ(got.max_cmd_sn, 0x51525354u);
  EXPECT_EQ(got.desired_data_transfer_length, 0x81828384u);
}

TEST(PduGolden, AsyncMessage) {
  AsyncMessage pdu;
  pdu.lun = lun(0x0102030405060708);
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.event = 3;
  pdu.vendor_code = 0x62;
  pdu.parameter1 = 0x6364;
  pdu.parameter2 = 0x7172;
  pdu.parameter3 = 0x7374;
  const AsyncMessage got = golden(pdu,
                                  "32800000 00000000 01020304 05060708 ffffffff 00000000 31323334 "
                                  "41424344 51525354 03626364 71727374 00000000");
  EXPECT_EQ(got.event, 3);
  EXPECT_EQ(got.parameter1, 0x6364);
  EXPECT_EQ(got.parameter3, 0x7374);
}

TEST(PduGolden, TextRequest) {
  TextRequest pdu;
  pdu.immediate = true;
  pdu.final = false;
  pdu.continues = true;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.target_transfer_tag = 0x21222324;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  const TextRequest got = golden(pdu,
                                 "44400000 00000000 01020304 05060708 11121314 21222324 31323334 "
                                 "41424344 00000000 00000000 00000000 00000000");
  EXPECT_TRUE(got.immediate && !got.final && got.continues);
}

TEST(PduGolden, TextResponse) {
  TextResponse pdu;
  pdu.final = false;
  pdu.continues = true;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = 0x11121314;
  pdu.target_transfer_tag = 0x21222324;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  golden(
      pdu,
      "24400000 00000000 01020304 05060708 11121314 21222324 31323334 41424344 51525354 00000000 "
      "00000000 00000000");
  TextResponse last;
  last.initiator_task_tag = 1;
  golden(
      last,
      "24800000 00000000 00000000 00000000 00000001 ffffffff 00000000 00000000 00000000 00000000 "
      "00000000 00000000");
}

TEST(PduGolden, TagOfAFinalTextResponseIsIgnored) {
  const Result<TextResponse> got = decode<TextResponse>(
      bhs_of("24800000 00000000 00000000 00000000 00000001 00000005 00000000 00000000 00000000 "
             "00000000 00000000 00000000"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->target_transfer_tag, kReservedTag);
}

TEST(PduGolden, LoginRequest) {
  LoginRequest pdu;
  pdu.transit = true;
  pdu.current_stage = 1;
  pdu.next_stage = 3;
  pdu.version_max = 0x02;
  pdu.version_min = 0x01;
  for (int i = 0; i < 6; ++i) pdu.isid[i] = static_cast<std::byte>(0x40 + i);
  pdu.tsih = 0x0708;
  pdu.initiator_task_tag = 0x11121314;
  pdu.cid = 0x2122;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  const LoginRequest got = golden(pdu,
                                  "43870201 00000000 40414243 44450708 11121314 21220000 31323334 "
                                  "41424344 00000000 00000000 00000000 00000000");
  EXPECT_TRUE(got.transit && !got.continues);
  EXPECT_EQ(got.current_stage, 1);
  EXPECT_EQ(got.next_stage, 3);
  EXPECT_EQ(got.version_max, 2);
  EXPECT_EQ(got.version_min, 1);
  EXPECT_EQ(got.tsih, 0x0708);
  EXPECT_EQ(got.cid, 0x2122);

  LoginRequest more;
  more.continues = true;
  more.current_stage = 2;
  EXPECT_EQ(load_u8(&encode(more).raw[1]), 0x48);
}

TEST(PduGolden, LoginResponse) {
  LoginResponse pdu;
  pdu.transit = true;
  pdu.current_stage = 1;
  pdu.next_stage = 3;
  pdu.version_max = 0x02;
  pdu.version_active = 0x01;
  for (int i = 0; i < 6; ++i) pdu.isid[i] = static_cast<std::byte>(0x40 + i);
  pdu.tsih = 0x0708;
  pdu.initiator_task_tag = 0x11121314;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.status_class = 0x02;
  pdu.status_detail = 0x0b;
  const LoginResponse got = golden(pdu,
                                   "23870201 00000000 40414243 44450708 11121314 00000000 31323334 "
                                   "41424344 51525354 020b0000 00000000 00000000");
  EXPECT_EQ(got.status_class, 2);
  EXPECT_EQ(got.status_detail, 0x0b);
  EXPECT_EQ(got.version_active, 1);
}

TEST(PduGolden, LogoutRequest) {
  LogoutRequest pdu;
  pdu.immediate = true;
  pdu.reason = 2;
  pdu.initiator_task_tag = 0x11121314;
  pdu.cid = 0x2122;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  const LogoutRequest got = golden(pdu,
                                   "46820000 00000000 00000000 00000000 11121314 21220000 31323334 "
                                   "41424344 00000000 00000000 00000000 00000000");
  EXPECT_EQ(got.reason, 2);
  EXPECT_EQ(got.cid, 0x2122);
}

TEST(PduGolden, LogoutResponse) {
  LogoutResponse pdu;
  pdu.response = 3;
  pdu.initiator_task_tag = 0x11121314;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.time2wait = 0x7172;
  pdu.time2retain = 0x7374;
  const LogoutResponse got = golden(pdu,
                                    "26800300 00000000 00000000 00000000 11121314 00000000 "
                                    "31323334 41424344 51525354 00000000 71727374 00000000");
  EXPECT_EQ(got.response, 3);
  EXPECT_EQ(got.time2wait, 0x7172);
  EXPECT_EQ(got.time2retain, 0x7374);
}

TEST(PduGolden, SnackRequest) {
  SnackRequest pdu;
  pdu.type = 2;
  pdu.lun = lun(0x0102030405060708);
  pdu.initiator_task_tag = kReservedTag;
  pdu.target_transfer_tag = 0x21222324;
  pdu.exp_stat_sn = 0x41424344;
  pdu.beg_run = 0x71727374;
  pdu.run_length = 0x81828384;
  const SnackRequest got = golden(pdu,
                                  "10820000 00000000 01020304 05060708 ffffffff 21222324 00000000 "
                                  "41424344 00000000 00000000 71727374 81828384");
  EXPECT_EQ(got.type, 2);
  EXPECT_EQ(got.beg_run, 0x71727374u);
  EXPECT_EQ(got.run_length, 0x81828384u);
}

TEST(PduGolden, Reject) {
  Reject pdu;
  pdu.reason = RejectReason::invalid_pdu_field;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  pdu.data_sn = 0x61626364;
  const Reject got = golden(pdu,
                            "3f800900 00000000 00000000 00000000 ffffffff 00000000 31323334 "
                            "41424344 51525354 61626364 00000000 00000000");
  EXPECT_EQ(got.reason, RejectReason::invalid_pdu_field);
  EXPECT_EQ(got.data_sn, 0x61626364u);
}

TEST(PduGolden, NopOut) {
  NopOut pdu;
  pdu.lun = lun(0x0102030405060708);
  pdu.target_transfer_tag = 0x21222324;
  pdu.cmd_sn = 0x31323334;
  pdu.exp_stat_sn = 0x41424344;
  const NopOut got = golden(pdu,
                            "40800000 00000000 01020304 05060708 ffffffff 21222324 31323334 "
                            "41424344 00000000 00000000 00000000 00000000");
  EXPECT_TRUE(got.immediate);
}

TEST(PduGolden, NopIn) {
  NopIn pdu;
  pdu.lun = lun(0x0102030405060708);
  pdu.target_transfer_tag = 0x21222324;
  pdu.stat_sn = 0x31323334;
  pdu.exp_cmd_sn = 0x41424344;
  pdu.max_cmd_sn = 0x51525354;
  golden(
      pdu,
      "20800000 00000000 01020304 05060708 ffffffff 21222324 31323334 41424344 51525354 00000000 "
      "00000000 00000000");
}

}  // namespace
}  // namespace openiser::iscsi
