#include "target/scsi/sense.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <tuple>

#include "tests/support/bytes.h"

namespace openiser::target {
namespace {

using test::to_hex;

std::string fixed(const Sense& sense) {
  return to_hex(EncodedSense(sense, SenseFormat::fixed).bytes());
}
std::string descriptor(const Sense& sense) {
  return to_hex(EncodedSense(sense, SenseFormat::descriptor).bytes());
}

TEST(Sense, FixedFormat) {
  EXPECT_EQ(fixed({.condition = Condition::invalid_opcode}),
            "700005000000000a000000002000000000"
            "00");
}

TEST(Sense, FixedFormatPointsAtAFieldOfTheCdb) {
  EXPECT_EQ(fixed(invalid_cdb(2)),
            "700005000000000a000000002400"
            "00c00002");
}

TEST(Sense, FixedFormatPointsAtABit) {
  EXPECT_EQ(fixed(invalid_cdb(1, 7)),
            "700005000000000a000000002400"
            "00cf0001");
}

TEST(Sense, FixedFormatPointsAtAParameter) {
  EXPECT_EQ(fixed(invalid_parameter(0x0108)),
            "700005000000000a000000002600"
            "00800108");
}

TEST(Sense, FixedFormatInformation) {
  EXPECT_EQ(fixed({.condition = Condition::unrecovered_read_error, .information = 0x12345678}),
            "f00003123456780a00000000110000000000");
}

TEST(Sense, FixedFormatLeavesOutWhatHasNoRoom) {
  EXPECT_EQ(fixed({.condition = Condition::unrecovered_read_error, .information = 0x100000000}),
            "700003000000000a00000000110000000000");
}

TEST(Sense, DescriptorFormat) {
  EXPECT_EQ(descriptor({.condition = Condition::power_on}), "7206290000000000");
}

TEST(Sense, DescriptorFormatWithInformation) {
  EXPECT_EQ(descriptor({.condition = Condition::write_error, .information = 0x123456789a}),
            "72030c000000000c"
            "000a8000000000123456789a");
}

TEST(Sense, DescriptorFormatWithFieldPointer) {
  EXPECT_EQ(descriptor(invalid_cdb(1, 4)),
            "7205240000000008"
            "02060000cc000100");
}

TEST(Sense, EveryConditionHasItsRow) {
  std::set<std::tuple<int, int, int>> seen;
  for (int i = 0; i <= static_cast<int>(Condition::capacity_changed); ++i) {
    const auto condition = static_cast<Condition>(i);
    const ConditionRow& row = row_of(condition);
    EXPECT_EQ(row.condition, condition);
    EXPECT_FALSE(row.name.empty());
    EXPECT_TRUE(seen.insert({row.key, row.asc, row.ascq}).second) << row.name;
  }
}

struct StoreError {
  int error;
  StoreRequest::Operation operation;
  std::string_view sense;  // key, ASC, ASCQ
};

class SenseOfStoreError : public ::testing::TestWithParam<StoreError> {};

TEST_P(SenseOfStoreError, IsWhatTheTableSays) {
  const auto& [error, operation, expected] = GetParam();
  const ErrorCode code(error, boost::system::generic_category());
  const auto& row = row_of(sense_of_store_error(code, operation, 0).condition);
  char text[16];
  std::snprintf(text, sizeof text, "%x/%02x/%02x", row.key, row.asc, row.ascq);
  EXPECT_EQ(text, expected);
}

using Operation = StoreRequest::Operation;
INSTANTIATE_TEST_SUITE_P(Errors, SenseOfStoreError,
                         ::testing::Values(StoreError{ENOSPC, Operation::write, "7/27/07"},
                                           StoreError{EDQUOT, Operation::write, "7/27/07"},
                                           StoreError{ENOSPC, Operation::write_zeroes, "7/27/07"},
                                           StoreError{EROFS, Operation::write, "7/27/00"},
                                           StoreError{EPERM, Operation::discard, "7/27/00"},
                                           StoreError{EIO, Operation::read, "3/11/00"},
                                           StoreError{EIO, Operation::write, "3/0c/00"},
                                           StoreError{EIO, Operation::flush, "3/0c/00"},
                                           StoreError{EIO, Operation::discard, "3/0c/00"},
                                           StoreError{ENOMEM, Operation::read, "4/44/00"},
                                           StoreError{EBADF, Operation::write, "4/44/00"}));

}  // namespace
}  // namespace openiser::target
