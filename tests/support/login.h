// For tests of login: PDUs made and read as text, Parameters as lines that diff well, an authority
// that says yes, and both machines joined.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "iscsi/login/login.h"
#include "iscsi/pdu/text.h"

namespace openiser::test {

using iscsi::ControlPdu;
using iscsi::errc;
using iscsi::LoginRequest;
using iscsi::LoginResponse;
using iscsi::LoginStep;
using Outcome = LoginStep::Outcome;

inline const Time kStart{std::chrono::hours(1)};
inline constexpr const char* kInitiatorName = "iqn.2026-11.org.example:host";
inline constexpr const char* kTargetName = "iqn.2026-11.org.example:disk1";

// "A=1|B=2" is easier to read than NULs: '|' stands for them, also at the end.
inline std::string with_nuls(std::string text) {
  for (char& c : text)
    if (c == '|') c = '\0';
  return text;
}
inline std::string with_bars(Bytes bytes) {
  std::string text(as_text(bytes));
  for (char& c : text)
    if (c == '\0') c = '|';
  return text;
}

inline ControlPdu pdu_of(const iscsi::Bhs& bhs, std::string_view text) {
  ControlPdu pdu{bhs, {}, {}};
  pdu.bhs.set_data_segment_length(static_cast<std::uint32_t>(text.size()));
  pdu.data = Buffer::copy_of(as_bytes(text));
  return pdu;
}

// Login Requests of one connection.
struct Requests {
  LoginRequest header = first();

  static LoginRequest first() {
    LoginRequest request;
    request.isid = {std::byte{0x40}, std::byte{1}, std::byte{2},
                    std::byte{3},    std::byte{4}, std::byte{5}};
    request.initiator_task_tag = 0x1234;
    request.cid = 7;
    request.cmd_sn = 100;
    return request;
  }
  // `next`: the stage asked for, if any.
  ControlPdu at(int stage, std::optional<int> next, const std::string& text,
                bool continues = false) const {
    LoginRequest request = header;
    request.current_stage = static_cast<std::uint8_t>(stage);
    request.transit = next.has_value();
    request.next_stage = static_cast<std::uint8_t>(next.value_or(0));
    request.continues = continues;
    return pdu_of(encode(request), with_nuls(text));
  }
};

inline std::string names(const std::string& more = {}) {
  return std::string("InitiatorName=") + kInitiatorName + "|TargetName=" + kTargetName + "|" + more;
}

inline LoginResponse response_in(const LoginStep& step) {
  if (!step.send) {
    ADD_FAILURE() << "no PDU: " << step.error.message() << " " << step.detail;
    return {};
  }
  const auto response = iscsi::decode<LoginResponse>(step.send->bhs);
  EXPECT_TRUE(response.has_value());
  EXPECT_EQ(step.send->bhs.data_segment_length(), step.send->data.size());
  EXPECT_LE(step.send->data.size(), 8192U);
  return response ? *response : LoginResponse{};
}
inline LoginRequest request_in(const LoginStep& step) {
  if (!step.send) {
    ADD_FAILURE() << "no PDU: " << step.error.message() << " " << step.detail;
    return {};
  }
  const auto request = iscsi::decode<LoginRequest>(step.send->bhs);
  EXPECT_TRUE(request.has_value());
  EXPECT_TRUE(step.send->bhs.immediate());
  EXPECT_LE(step.send->data.size(), 8192U);
  return request ? *request : LoginRequest{};
}
inline std::string text_in(const LoginStep& step) {
  return step.send ? with_bars(step.send->data.bytes()) : std::string("no PDU");
}

inline int status_of(const LoginResponse& response) {
  return response.status_class << 8 | response.status_detail;
}

// The value of `key` in "A=1|B=2|"; "-" if it is not there.
inline std::string value_in(const std::string& text, const std::string& key) {
  const std::string whole = "|" + text;
  const auto at = whole.find("|" + key + "=");
  if (at == std::string::npos) return "-";
  const auto from = at + key.size() + 2;
  return whole.substr(from, whole.find('|', from) - from);
}

using Lines = std::map<std::string, std::string>;

inline Lines lines_of(const iscsi::Parameters& p) {
  const auto n = [](auto value) { return std::to_string(static_cast<std::uint64_t>(value)); };
  std::string isid;
  for (const std::byte b : p.isid) isid += n(b) + ".";
  return {{"session_type", n(p.session_type)},
          {"initiator_name", p.initiator_name},
          {"initiator_alias", p.initiator_alias},
          {"target_name", p.target_name},
          {"target_alias", p.target_alias},
          {"target_portal_group_tag", n(p.target_portal_group_tag)},
          {"isid", isid},
          {"tsih", n(p.tsih)},
          {"cid", n(p.cid)},
          {"header_digest", n(p.header_digest)},
          {"data_digest", n(p.data_digest)},
          {"max_connections", n(p.max_connections)},
          {"initial_r2t", n(p.initial_r2t)},
          {"immediate_data", n(p.immediate_data)},
          {"max_send_data_segment_length", n(p.max_send_data_segment_length)},
          {"max_recv_data_segment_length", n(p.max_recv_data_segment_length)},
          {"max_burst_length", n(p.max_burst_length)},
          {"first_burst_length", n(p.first_burst_length)},
          {"max_outstanding_r2t", n(p.max_outstanding_r2t)},
          {"data_pdu_in_order", n(p.data_pdu_in_order)},
          {"data_sequence_in_order", n(p.data_sequence_in_order)},
          {"default_time2wait", n(p.default_time2wait)},
          {"default_time2retain", n(p.default_time2retain)},
          {"error_recovery_level", n(p.error_recovery_level)},
          {"rdma_extensions", n(p.rdma_extensions)},
          {"peer_max_outstanding_unexpected_pdus", n(p.peer_max_outstanding_unexpected_pdus)},
          {"own_max_outstanding_unexpected_pdus", n(p.own_max_outstanding_unexpected_pdus)},
          {"peer_max_ahs_length", n(p.peer_max_ahs_length)},
          {"tagged_buffer_for_solicited_data_only", n(p.tagged_buffer_for_solicited_data_only)},
          {"iser_hello_required", n(p.iser_hello_required)},
          {"next_cmd_sn", n(p.next_cmd_sn)},
          {"next_stat_sn", n(p.next_stat_sn)},
          {"max_cmd_sn", n(p.max_cmd_sn)}};
}

// What `after` says otherwise than `before`.
inline Lines changes(const iscsi::Parameters& before, const iscsi::Parameters& after) {
  const Lines old = lines_of(before);
  Lines changed;
  for (const auto& [field, value] : lines_of(after))
    if (old.at(field) != value) changed[field] = value;
  return changed;
}

struct Authority final : iscsi::LoginAuthority {
  Verdict verdict{{}, "", 1};
  int asked = 0;
  Request last{};
  std::string initiator_name, target_name;

  Verdict identify(const Request& request) override {
    ++asked;
    last = request;
    initiator_name = request.initiator_name;
    target_name = request.target_name;
    return verdict;
  }
};

// A target machine at work, and the requests that go to it.
struct Target {
  Authority authority;
  Requests requests;
  iscsi::TargetLogin login;

  explicit Target(iscsi::Preferences preferences = {}, bool rdma_connection = false)
      : login(preferences, authority, rdma_connection, kStart) {}

  LoginStep take(int stage, std::optional<int> next, const std::string& text,
                 bool continues = false) {
    return login.receive(requests.at(stage, next, text, continues), kStart);
  }
  // One request with everything in it, straight to the operational stage; granted if it comes to
  // that.
  LoginStep one_request(const std::string& text) { return granted(take(1, 3, names(text))); }
  LoginStep granted(LoginStep step) {
    return step.outcome == Outcome::authorize ? login.grant(0x77, 32) : std::move(step);
  }
};

struct Ends {
  LoginStep initiator, target;
  int pdus = 0;
};

// Runs both machines against each other to their ends. `cut`: before the PDU of that number is
// delivered everything stops.
inline Ends converse(iscsi::InitiatorLogin& initiator, iscsi::TargetLogin& target, int cut = 1000) {
  Ends ends;
  ends.initiator = initiator.start(kStart);
  while (ends.initiator.send && ends.pdus < cut) {
    ++ends.pdus;
    ends.target = target.receive(*ends.initiator.send, kStart);
    if (ends.target.outcome == Outcome::authorize) ends.target = target.grant(0x77, 32);
    if (!ends.target.send || ends.pdus >= cut) break;
    ++ends.pdus;
    ends.initiator = initiator.receive(*ends.target.send, kStart);
  }
  return ends;
}

inline iscsi::InitiatorIdentity identity(std::string target_name = kTargetName) {
  iscsi::InitiatorIdentity who;
  who.initiator_name = kInitiatorName;
  who.isid = Requests::first().isid;
  who.target_name = std::move(target_name);
  who.cid = 7;
  return who;
}

}  // namespace openiser::test
