// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS; identifying information and the clock, which
// initiators share.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/two_sessions.h"

namespace openiser::test {
namespace {

ByteVector maintenance(std::uint8_t opcode, std::uint8_t action, std::uint32_t length,
                       std::uint8_t byte_10 = 0) {
  ByteVector cdb = cdb12(opcode, 0, length, action);
  store_u8(&cdb[10], byte_10);
  return cdb;
}

class TaskManagementReport : public ScsiFixture {};

TEST_F(TaskManagementReport, Basic) {
  set_up();
  const auto task = in(hex("a3 0d 00 00 00 00 00 00 01 00 00 00"), 256);
  EXPECT_GOOD(task);
  EXPECT_EQ(to_hex(task->data_in), "dc030000");
  EXPECT_EQ(task->transfer_length, 4U);
}

TEST_F(TaskManagementReport, Extended) {
  set_up();
  const auto task = in(hex("a3 0d 80 00 00 00 00 00 01 00 00 00"), 256);
  EXPECT_GOOD(task);
  EXPECT_EQ(to_hex(task->data_in), "dc03000c000000000000000000000000");
}

TEST_F(TaskManagementReport, IsCutAtEveryByte) {
  set_up();
  for (std::uint32_t length = 0; length <= 18; ++length) {
    ByteVector cdb = maintenance(0xa3, 0x0d, length);
    store_u8(&cdb[2], 0x80);
    const auto task = in(cdb, 256);
    EXPECT_GOOD(task);
    EXPECT_EQ(task->transfer_length, std::min(length, 16U));
  }
}

class IdentifyingInformation : public TwoSessions {
 protected:
  static constexpr std::uint8_t kIdentifier = 0;
  static constexpr std::uint8_t kText = 2;

  std::unique_ptr<FakeTask> set(std::uint8_t type, const ByteVector& value) {
    const auto length = static_cast<std::uint32_t>(value.size());
    return out(maintenance(0xa4, 0x06, length, static_cast<std::uint8_t>(type << 1)), value);
  }
  std::unique_ptr<FakeTask> report(std::uint8_t type, std::uint32_t allocation = 1024) {
    return in(maintenance(0xa3, 0x05, allocation, static_cast<std::uint8_t>(type << 1)), 1024);
  }
  static ByteVector text(std::string_view words) { return exact(as_bytes(words)) + ByteVector(1); }
};

TEST_F(IdentifyingInformation, IsEmptyAtFirst) {
  set_up();
  EXPECT_EQ(to_hex(report(kIdentifier)->data_in), "00000000");
  EXPECT_EQ(to_hex(report(kText)->data_in), "00000000");
}

TEST_F(IdentifyingInformation, IsReportedAsItWasSet) {
  set_up();
  EXPECT_GOOD(set(kIdentifier, hex("00 ff 10")));
  EXPECT_GOOD(set(kText, text("disk")));
  EXPECT_EQ(to_hex(report(kIdentifier)->data_in), "0000000300ff10");
  EXPECT_EQ(to_hex(report(kText)->data_in), "00000005" + to_hex(text("disk")));
}

TEST_F(IdentifyingInformation, AnotherSessionSeesIt) {
  two_sessions();
  EXPECT_GOOD(set(kIdentifier, hex("42")));
  settle();
  auto task = other->task(maintenance(0xa3, 0x05, 64));
  task->read = true;
  task->expected_data_transfer_length = 64;
  task->execute();
  EXPECT_SENSE(task, "6/3f/05");
  EXPECT_EQ(on_other(test_unit_ready()), "good");
  EXPECT_GOOD(none(test_unit_ready()));  // who set it knows
}

TEST_F(IdentifyingInformation, TheSameValueAgainTellsNobody) {
  two_sessions();
  set(kIdentifier, hex("42"));
  settle();
  EXPECT_EQ(on_other(test_unit_ready()), "6/3f/05");
  EXPECT_GOOD(set(kIdentifier, hex("42")));
  settle();
  EXPECT_EQ(on_other(test_unit_ready()), "good");
}

TEST_F(IdentifyingInformation, LengthOfNothingRemovesIt) {
  set_up();
  set(kIdentifier, hex("42"));
  EXPECT_GOOD(none(maintenance(0xa4, 0x06, 0)));
  EXPECT_EQ(to_hex(report(kIdentifier)->data_in), "00000000");
}

TEST_F(IdentifyingInformation, LengthsUpToTheLimit) {
  set_up();
  EXPECT_GOOD(set(kIdentifier, data(512)));
  EXPECT_EQ(report(kIdentifier)->data_in.size(), 516U);
  EXPECT_SENSE(set(kIdentifier, data(513)), "5/24/00@6");
  EXPECT_GOOD(set(kText, ByteVector(256)));
  EXPECT_SENSE(set(kText, ByteVector(257)), "5/24/00@6");
  EXPECT_EQ(report(kIdentifier)->data_in.size(), 516U) << "what was there stays";
}

TEST_F(IdentifyingInformation, TextHasAnEnd) {
  set_up();
  EXPECT_SENSE(set(kText, hex("61 62")), "5/26/00#1");
  EXPECT_EQ(to_hex(report(kText)->data_in), "00000000");
}

TEST_F(IdentifyingInformation, ListThatIsShortAtEveryByte) {
  set_up();
  for (std::size_t there = 0; there < 8; ++there) {
    EXPECT_SENSE(out(maintenance(0xa4, 0x06, 8), data(there)), "5/1a/00");
  }
  EXPECT_EQ(to_hex(report(kIdentifier)->data_in), "00000000");
}

TEST_F(IdentifyingInformation, OtherTypes) {
  set_up();
  for (unsigned type = 0; type < 128; ++type) {
    const auto byte = static_cast<std::uint8_t>(type);
    if (type == kIdentifier || type == kText) continue;
    EXPECT_SENSE(set(byte, hex("00")), "5/24/00@10.7");
    if (type != 0x7f) EXPECT_SENSE(report(byte), "5/24/00@10.7");
  }
}

TEST_F(IdentifyingInformation, SupportedTypes) {
  set_up();
  EXPECT_EQ(to_hex(report(0x7f)->data_in),
            "00000008"
            "00000200"
            "04000100");
}

TEST_F(IdentifyingInformation, ReportIsCutAtEveryByte) {
  set_up();
  set(kIdentifier, data(9));
  for (std::uint32_t length = 0; length <= 15; ++length) {
    EXPECT_EQ(report(kIdentifier, length)->transfer_length, std::min(length, 13U));
  }
}

TEST_F(IdentifyingInformation, UnitsHaveTheirOwn) {
  set_up();
  target::LogicalUnitSettings second;
  second.lun = 1;
  device->units[1] = target::make_logical_unit(kName, second, target::make_null_store(4096));
  open();
  set(kIdentifier, hex("42"));
  EXPECT_EQ(to_hex(in(maintenance(0xa3, 0x05, 64), 64, 1)->data_in), "00000000");
}

class Timestamp : public TwoSessions {
 protected:
  struct Reported {
    std::uint8_t origin;
    std::uint64_t milliseconds;
  };
  Reported report() {
    const auto task = in(maintenance(0xa3, 0x0f, 64), 64);
    const ByteVector& bytes = task->data_in;
    EXPECT_EQ(task->status, kGood);
    EXPECT_EQ(bytes.size(), 12U);
    if (bytes.size() != 12) return {};
    EXPECT_EQ(load_be16(&bytes[0]), 10U);
    return {load_u8(&bytes[2]), load_be64(&bytes[2]) & 0xffffffffffff};
  }
  std::unique_ptr<FakeTask> set(std::uint64_t milliseconds, std::uint32_t length = 12) {
    ByteVector list(length);
    if (length >= 10) {
      store_be16(&list[4], static_cast<std::uint16_t>(milliseconds >> 32));
      store_be32(&list[6], static_cast<std::uint32_t>(milliseconds));
    }
    return out(maintenance(0xa4, 0x0f, length), list);
  }
};

TEST_F(Timestamp, IsTheMachinesAtFirst) {
  set_up();
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const Reported reported = report();
  EXPECT_EQ(reported.origin, 3);
  EXPECT_GE(reported.milliseconds, static_cast<std::uint64_t>(now));
  EXPECT_LT(reported.milliseconds, static_cast<std::uint64_t>(now) + 10000);
}

TEST_F(Timestamp, RunsFromWhatItWasSetTo) {
  two_sessions();
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    EXPECT_GOOD(set(begin));
    const Reported reported = report();
    EXPECT_EQ(reported.origin, 2);
    EXPECT_GE(reported.milliseconds, begin);
    EXPECT_LT(reported.milliseconds, begin + 10000);
  }
  settle();
  EXPECT_EQ(on_other(test_unit_ready()), "6/2a/10");
  EXPECT_EQ(on_other(test_unit_ready()), "good");
}

TEST_F(Timestamp, Lengths) {
  set_up();
  EXPECT_GOOD(none(maintenance(0xa4, 0x0f, 0)));
  for (std::uint32_t length = 1; length < 12; ++length) {
    EXPECT_SENSE(set(0, length), "5/1a/00");
    EXPECT_SENSE(out(maintenance(0xa4, 0x0f, 12), ByteVector(length)), "5/1a/00");
  }
  EXPECT_EQ(report().origin, 3);
  const auto longer = set(0, 20);
  EXPECT_GOOD(longer);
  EXPECT_EQ(longer->transfer_length, 12U) << "the rest is residual";
}

TEST_F(Timestamp, ReportIsCutAtEveryByte) {
  set_up();
  for (std::uint32_t length = 0; length <= 14; ++length) {
    EXPECT_EQ(in(maintenance(0xa3, 0x0f, length), 64)->transfer_length, std::min(length, 12U));
  }
}

}  // namespace
}  // namespace openiser::test
