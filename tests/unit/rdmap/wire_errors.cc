// The error table: every row against a second list of the numbers in RFC 5040 section 4.8, RFC 5041
// section 7.2, RFC 5044 section 8 and RFC 6581 section 8.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "rdmap/errors.h"

namespace openiser::rdmap {
namespace {

struct Expected {
  errc error;
  int layer, type, code;
  bool ddp_header, rdmap_header;
};

constexpr Expected kExpected[] = {
    {errc::mpa_crc, 2, 0, 2, false, false},
    {errc::mpa_marker, 2, 0, 3, false, false},
    {errc::mpa_bad_frame, 2, 0, 4, false, false},
    {errc::mpa_local_catastrophic, 2, 0, 5, false, false},
    {errc::mpa_insufficient_ird, 2, 0, 6, false, false},
    {errc::mpa_no_rtr_match, 2, 0, 7, false, false},
    {errc::ddp_local_catastrophic, 1, 0, 0, false, false},
    {errc::ddp_tagged_invalid_stag, 1, 1, 0, true, false},
    {errc::ddp_tagged_bounds, 1, 1, 1, true, false},
    {errc::ddp_tagged_stag_not_associated, 1, 1, 2, true, false},
    {errc::ddp_tagged_wrap, 1, 1, 3, true, false},
    {errc::ddp_tagged_version, 1, 1, 4, true, false},
    {errc::ddp_untagged_queue, 1, 2, 1, true, false},
    {errc::ddp_untagged_no_buffer, 1, 2, 2, true, false},
    {errc::ddp_untagged_msn_range, 1, 2, 3, true, false},
    {errc::ddp_untagged_offset, 1, 2, 4, true, false},
    {errc::ddp_untagged_too_long, 1, 2, 5, true, false},
    {errc::ddp_untagged_version, 1, 2, 6, true, false},
    {errc::rdmap_local_catastrophic, 0, 0, 0, false, false},
    {errc::rdmap_invalid_stag, 0, 1, 0, true, true},
    {errc::rdmap_bounds, 0, 1, 1, true, true},
    {errc::rdmap_access, 0, 1, 2, true, true},
    {errc::rdmap_stag_not_associated, 0, 1, 3, true, true},
    {errc::rdmap_wrap, 0, 1, 4, true, true},
    {errc::rdmap_cannot_invalidate, 0, 1, 9, true, true},
    {errc::rdmap_protection_unspecified, 0, 1, 0xff, true, true},
    {errc::rdmap_version, 0, 2, 5, true, false},
    {errc::rdmap_opcode, 0, 2, 6, true, false},
    {errc::rdmap_stream_catastrophic, 0, 2, 7, true, false},
    {errc::rdmap_global_catastrophic, 0, 2, 8, true, false},
    {errc::rdmap_operation_unspecified, 0, 2, 0xff, true, false},
};
constexpr errc kLast = errc::rdmap_operation_unspecified;

class TerminateTable : public testing::TestWithParam<Expected> {};

TEST_P(TerminateTable, HasTheNumbersOfTheRfc) {
  const Expected& expected = GetParam();
  const TerminateRow* row = terminate_row(expected.error);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->error, expected.error);
  EXPECT_EQ(row->layer, expected.layer);
  EXPECT_EQ(row->type, expected.type);
  EXPECT_EQ(row->code, expected.code);
  EXPECT_EQ(row->ddp_header, expected.ddp_header);
  EXPECT_EQ(row->rdmap_header, expected.rdmap_header);
  EXPECT_TRUE(std::string(row->section).starts_with("RFC "));
}

TEST_P(TerminateTable, IsReadBackToTheSameError) {
  const Expected& e = GetParam();
  EXPECT_EQ(
      error_of_terminate(static_cast<std::uint8_t>(e.layer), static_cast<std::uint8_t>(e.type),
                         static_cast<std::uint8_t>(e.code)),
      e.error);
}

INSTANTIATE_TEST_SUITE_P(Rows, TerminateTable, testing::ValuesIn(kExpected));

TEST(Errors, TheTableHasExactlyTheExpectedRows) {
  EXPECT_EQ(terminate_table().size(), std::size(kExpected));
}

TEST(Errors, EveryErrorFromTheMpaOnesOnHasOneRow) {
  for (int value = static_cast<int>(errc::mpa_crc); value <= static_cast<int>(kLast); ++value) {
    const auto rows =
        std::ranges::count(terminate_table(), static_cast<errc>(value), &TerminateRow::error);
    EXPECT_EQ(rows, 1) << value;
  }
}

TEST(Errors, NoTwoRowsHaveTheSameCodes) {
  std::set<std::tuple<int, int, int>> codes;
  for (const TerminateRow& row : terminate_table()) {
    EXPECT_TRUE(codes.insert({row.layer, row.type, row.code}).second) << row.text;
  }
}

TEST(Errors, LocalErrorsHaveNoTerminate) {
  for (int value = 1; value < static_cast<int>(errc::mpa_crc); ++value) {
    EXPECT_EQ(terminate_row(static_cast<errc>(value)), nullptr) << value;
  }
}

TEST(Errors, AnErrorOfAnotherCategoryHasNoTerminate) {
  const ErrorCode foreign(static_cast<int>(errc::mpa_crc), boost::system::generic_category());
  EXPECT_EQ(terminate_row(foreign), nullptr);
}

TEST(Errors, EveryErrorHasItsOwnMessage) {
  std::set<std::string> messages;
  for (int value = 1; value <= static_cast<int>(kLast); ++value) {
    const ErrorCode error = static_cast<errc>(value);
    EXPECT_NE(error.message(), "unknown RDMAP error") << value;
    EXPECT_TRUE(messages.insert(error.message()).second) << error.message();
  }
}

TEST(Errors, AnUnknownValueHasAMessageToo) {
  EXPECT_EQ(ErrorCode(9999, error_category()).message(), "unknown RDMAP error");
}

TEST(Errors, UnknownCodesMeanTerminatedByPeer) {
  EXPECT_EQ(error_of_terminate(1, 3, 0), errc::terminated_by_peer);
  EXPECT_EQ(error_of_terminate(2, 0, 1), errc::terminated_by_peer);
  EXPECT_EQ(error_of_terminate(15, 15, 255), errc::terminated_by_peer);
}

// RFC 5040 section 4.8, figure 9: "any value in this field is acceptable".
TEST(Errors, AnRdmapLocalCatastropheMayCarryAnyCode) {
  EXPECT_EQ(error_of_terminate(0, 0, 0x5a), errc::rdmap_local_catastrophic);
}

TEST(Errors, CannotInvalidateIsUnderstoodUnderBothErrorTypes) {
  EXPECT_EQ(error_of_terminate(0, 2, 9), errc::rdmap_cannot_invalidate);
}

}  // namespace
}  // namespace openiser::rdmap
