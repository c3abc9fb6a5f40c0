#include "iscsi/errors.h"

#include <gtest/gtest.h>

#include <set>

namespace openiser::iscsi {
namespace {

constexpr int kErrors = static_cast<int>(errc::login_out_of_resources);

TEST(IscsiErrors, EachHasATextOfItsOwnThatNamesItsSection) {
  std::set<std::string> texts;
  for (int i = 1; i <= kErrors; ++i) {
    const std::string text = ErrorCode(static_cast<errc>(i)).message();
    EXPECT_NE(text.find("RFC 7"), std::string::npos) << text;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), static_cast<std::size_t>(kErrors));
}

TEST(IscsiErrors, UnknownValuesHaveAText) {
  EXPECT_EQ(error_category().message(0), "unknown error");
  EXPECT_EQ(error_category().message(kErrors + 1), "unknown error");
  EXPECT_EQ(error_category().message(-1), "unknown error");
}

// RFC 7143 section 11.13.5, whole.
TEST(IscsiErrors, LoginStatusOfEachLoginErrorAndBack) {
  const std::pair<errc, int> table[] = {
      {errc::login_redirected, 0x0101},           {errc::login_moved, 0x0102},
      {errc::login_initiator_error, 0x0200},      {errc::login_authentication_failed, 0x0201},
      {errc::login_authorization_failed, 0x0202}, {errc::login_target_not_found, 0x0203},
      {errc::login_target_removed, 0x0204},       {errc::login_unsupported_version, 0x0205},
      {errc::login_too_many_connections, 0x0206}, {errc::login_missing_parameter, 0x0207},
      {errc::login_cannot_include, 0x0208},       {errc::login_session_type, 0x0209},
      {errc::login_session_missing, 0x020a},      {errc::login_invalid_request, 0x020b},
      {errc::login_target_error, 0x0300},         {errc::login_service_unavailable, 0x0301},
      {errc::login_out_of_resources, 0x0302},
  };
  for (const auto& [error, code] : table) {
    const LoginStatus status{static_cast<std::uint8_t>(code >> 8), static_cast<std::uint8_t>(code)};
    EXPECT_EQ(login_status_of(error), status) << std::hex << code;
    EXPECT_EQ(error_of_login_status(status), error) << std::hex << code;
  }
}

TEST(IscsiErrors, PermanentMoveIsARedirectToo) {
  EXPECT_EQ(error_of_login_status({1, 2}), errc::login_moved);
}

TEST(IscsiErrors, StatusClassDecidesForUnknownDetails) {
  EXPECT_EQ(error_of_login_status({0, 0}), ErrorCode());
  EXPECT_EQ(error_of_login_status({0, 9}), ErrorCode());
  EXPECT_EQ(error_of_login_status({1, 0x77}), errc::login_redirected);
  EXPECT_EQ(error_of_login_status({2, 0x77}), errc::login_initiator_error);
  EXPECT_EQ(error_of_login_status({3, 0x77}), errc::login_target_error);
  EXPECT_EQ(error_of_login_status({4, 0}), errc::protocol_error);
}

TEST(IscsiErrors, StatusOfOtherErrors) {
  EXPECT_EQ(login_status_of({}), (LoginStatus{0, 0}));
  EXPECT_EQ(login_status_of(errc::negotiation_failed), (LoginStatus{2, 0}));
  EXPECT_EQ(login_status_of(errc::unexpected_pdu), (LoginStatus{2, 0x0b}));
  EXPECT_EQ(login_status_of(boost::system::errc::make_error_code(boost::system::errc::io_error)),
            (LoginStatus{2, 0}));
}

TEST(IscsiErrors, RejectReasons) {
  EXPECT_EQ(reject_reason_of(errc::data_digest), RejectReason::data_digest_error);
  EXPECT_EQ(reject_reason_of(errc::wrong_opcode), RejectReason::command_not_supported);
  EXPECT_EQ(reject_reason_of(errc::bad_field), RejectReason::invalid_pdu_field);
  EXPECT_EQ(reject_reason_of(errc::bad_target_transfer_tag), RejectReason::invalid_pdu_field);
  EXPECT_EQ(reject_reason_of(errc::protocol_error), RejectReason::protocol_error);
  EXPECT_EQ(reject_reason_of(errc::header_digest), std::nullopt);
  EXPECT_EQ(reject_reason_of({}), std::nullopt);
  // 0x0b is deprecated and never sent.
  for (int i = 1; i <= kErrors; ++i)
    EXPECT_NE(reject_reason_of(static_cast<errc>(i)), RejectReason::negotiation_reset);
}

}  // namespace
}  // namespace openiser::iscsi
