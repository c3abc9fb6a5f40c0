// The target's machine: header fields, stages, numbers, texts in pieces, grant and refuse.
#include "tests/support/login.h"

namespace openiser::test {
namespace {

using iscsi::kReservedTag;
using iscsi::Preferences;

// --- the first request ---

TEST(TargetLogin, OneRequestIsEnough) {
  Target target;
  EXPECT_EQ(target.take(1, 3, names()).outcome, Outcome::authorize);
  const LoginStep step = target.login.grant(0x77, 32);
  EXPECT_EQ(step.outcome, Outcome::succeeded);
  const LoginResponse response = response_in(step);
  EXPECT_TRUE(response.transit);
  EXPECT_EQ(response.current_stage, 1);
  EXPECT_EQ(response.next_stage, 3);
  EXPECT_EQ(response.tsih, 0x77);
  EXPECT_EQ(response.isid, target.requests.header.isid);
  EXPECT_EQ(response.initiator_task_tag, target.requests.header.initiator_task_tag);
  EXPECT_EQ(status_of(response), 0);
}

TEST(TargetLogin, AuthorityLearnsWhoWantsWhat) {
  Target target;
  target.requests.header.tsih = 9;
  target.take(1, 3, names());
  EXPECT_EQ(target.authority.initiator_name, kInitiatorName);
  EXPECT_EQ(target.authority.target_name, kTargetName);
  EXPECT_EQ(target.authority.last.session_type, iscsi::SessionType::normal);
  EXPECT_EQ(target.authority.last.tsih, 9);
  EXPECT_EQ(target.authority.last.cid, 7);
  EXPECT_EQ(target.authority.last.isid, target.requests.header.isid);
  EXPECT_EQ(target.authority.asked, 1);
  EXPECT_EQ(target.login.requested_tsih(), 9);
}

TEST(TargetLogin, AVerdictAgainstItEndsTheLoginWithItsStatus) {
  const std::pair<errc, int> verdicts[] = {{errc::login_target_not_found, 0x0203},
                                           {errc::login_authorization_failed, 0x0202},
                                           {errc::login_session_missing, 0x020a},
                                           {errc::login_service_unavailable, 0x0301}};
  for (const auto& [error, status] : verdicts) {
    Target target;
    target.authority.verdict.error = error;
    const LoginStep step = target.take(1, 3, names("MaxBurstLength=512|"));
    EXPECT_EQ(step.outcome, Outcome::failed);
    EXPECT_EQ(step.error, error);
    EXPECT_EQ(status_of(response_in(step)), status);
  }
}

// RFC 7143 section 11.13.5: with the address and nothing else.
TEST(TargetLogin, RedirectsBeforeAnythingElse) {
  for (const bool permanent : {false, true}) {
    for (const int stage : {0, 1}) {
      Target target;
      target.authority.verdict.target_alias = "My disk";
      target.authority.verdict.chap = std::make_shared<const iscsi::ChapSettings>();
      target.authority.verdict.redirection = {"[2001:db8::1]:3261", permanent, false};
      const LoginStep step =
          target.take(stage, stage == 0 ? 1 : 3,
                      names(stage == 0 ? "AuthMethod=CHAP|" : "MaxBurstLength=1024|"));
      EXPECT_EQ(step.outcome, Outcome::failed);
      EXPECT_EQ(step.error, permanent ? errc::login_moved : errc::login_redirected);
      EXPECT_EQ(status_of(response_in(step)), permanent ? 0x0102 : 0x0101);
      EXPECT_FALSE(response_in(step).transit);
      EXPECT_EQ(text_in(step), "TargetAddress=[2001:db8::1]:3261|");
    }
  }
}

TEST(TargetLogin, RedirectsInPlaceOfTheLastAnswer) {
  Target target;
  target.authority.verdict.redirection = {"192.0.2.9:3260", false, true};
  EXPECT_EQ(status_of(response_in(target.take(0, 1, names("AuthMethod=None|")))), 0);
  const LoginStep step = target.take(1, 3, "InitialR2T=Yes|");
  EXPECT_EQ(step.error, errc::login_redirected);
  EXPECT_EQ(status_of(response_in(step)), 0x0101);
  EXPECT_EQ(text_in(step), "TargetAddress=192.0.2.9:3260|");
}

TEST(TargetLogin, AliasAndPortalGroupGoWithTheFirstAnswer) {
  Target target;
  target.authority.verdict.target_alias = "My disk";
  target.authority.verdict.target_portal_group_tag = 65535;
  EXPECT_EQ(text_in(target.take(0, 1, names("AuthMethod=None|"))),
            "AuthMethod=None|TargetAlias=My disk|TargetPortalGroupTag=65535|");
  EXPECT_EQ(text_in(target.granted(target.take(1, 3, ""))), "MaxRecvDataSegmentLength=262144|");
  EXPECT_EQ(target.login.parameters().target_alias, "My disk");
  EXPECT_EQ(target.login.parameters().target_portal_group_tag, 65535);
}

TEST(TargetLogin, NamesThatAreMissingAreMissed) {
  const std::string initiator = std::string("InitiatorName=") + kInitiatorName + "|";
  const std::string target_name = std::string("TargetName=") + kTargetName + "|";
  for (const std::string& text :
       {std::string(), initiator, target_name, target_name + "SessionType=Discovery|",
        initiator + "SessionType=Normal|"}) {
    Target target;
    const LoginStep step = target.take(1, 3, text);
    EXPECT_EQ(step.error, errc::login_missing_parameter) << text;
    EXPECT_EQ(status_of(response_in(step)), 0x0207) << text;
    EXPECT_EQ(target.authority.asked, 0);
  }
}

TEST(TargetLogin, DiscoveryNeedsNoTargetName) {
  Target target;
  const LoginStep step = target.granted(target.take(
      1, 3, std::string("SessionType=Discovery|InitiatorName=") + kInitiatorName + "|"));
  EXPECT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  EXPECT_EQ(target.login.parameters().session_type, iscsi::SessionType::discovery);
  EXPECT_EQ(value_in(text_in(step), "TargetPortalGroupTag"), "-") << "RFC 7143 section 13.9";
}

TEST(TargetLogin, SessionTypeComesAtTheStartOrNotAtAll) {
  Target target;
  target.take(0, 1, names());
  EXPECT_EQ(target.take(1, 3, "SessionType=Discovery|").error, errc::protocol_error);
}

TEST(TargetLogin, BadNamesEndTheLogin) {
  for (const std::string& name : {std::string(), std::string(224, 'a'), std::string("iqn a")}) {
    Target target;
    EXPECT_EQ(target.take(1, 3, "InitiatorName=" + name + "|").error, errc::negotiation_failed);
  }
}

TEST(TargetLogin, AVersionWeDoNotSpeak) {
  Target target;
  target.requests.header.version_min = 1;
  target.requests.header.version_max = 2;
  const LoginStep step = target.take(1, 3, names());
  EXPECT_EQ(step.error, errc::login_unsupported_version);
  EXPECT_EQ(status_of(response_in(step)), 0x0205);
  EXPECT_EQ(response_in(step).version_active, 0);
}

TEST(TargetLogin, ANewerInitiatorThatSpeaksOursToo) {
  Target target;
  target.requests.header.version_max = 3;
  EXPECT_EQ(target.take(1, 3, names()).outcome, Outcome::authorize);
}

// --- stages ---

struct StageRow {
  int current;
  std::optional<int> next;
  bool ok;
};
class FirstStage : public testing::TestWithParam<StageRow> {};

TEST_P(FirstStage, IsCheckedByTheTableOfSection63) {
  Target target;
  const StageRow& row = GetParam();
  const LoginStep step = target.take(row.current, row.next, names());
  EXPECT_EQ(step.outcome != Outcome::failed, row.ok) << step.detail;
  if (!row.ok) {
    EXPECT_EQ(step.error, errc::bad_field);
    EXPECT_EQ(status_of(response_in(step)), 0x0200);
  }
}
INSTANTIATE_TEST_SUITE_P(Rows, FirstStage,
                         testing::Values(StageRow{0, {}, true}, StageRow{0, 0, false},
                                         StageRow{0, 1, true}, StageRow{0, 2, false},
                                         StageRow{0, 3, true}, StageRow{1, {}, true},
                                         StageRow{1, 0, false}, StageRow{1, 1, false},
                                         StageRow{1, 2, false}, StageRow{1, 3, true},
                                         StageRow{2, {}, false}, StageRow{2, 3, false},
                                         StageRow{3, {}, false}, StageRow{3, 3, false}));

TEST(TargetLogin, StagesFollowEachOther) {
  Target target;
  const LoginResponse first = response_in(target.take(0, 1, names("AuthMethod=None|")));
  EXPECT_TRUE(first.transit);
  EXPECT_EQ(first.current_stage, 0);
  EXPECT_EQ(first.next_stage, 1);
  EXPECT_EQ(first.tsih, 0) << "only the final response has the new TSIH";
  EXPECT_EQ(target.take(1, 3, "InitialR2T=No|").outcome, Outcome::authorize);
}

TEST(TargetLogin, WithoutTheTransitBitTheStageGoesOn) {
  Target target;
  EXPECT_FALSE(response_in(target.take(0, {}, names("AuthMethod=None|"))).transit);
  EXPECT_TRUE(response_in(target.take(0, 1, "")).transit);
  EXPECT_FALSE(response_in(target.take(1, {}, "InitialR2T=No|")).transit);
  EXPECT_EQ(target.take(1, 3, "").outcome, Outcome::authorize);
}

TEST(TargetLogin, AStageThatWasNotAgreedIsAnError) {
  Target target;
  target.take(0, {}, names());
  EXPECT_EQ(target.take(1, 3, "").error, errc::bad_field);
  Target back;
  back.take(0, 1, names());
  EXPECT_EQ(back.take(0, 1, "").error, errc::bad_field);
}

TEST(TargetLogin, SecurityMayLeadStraightToFullFeature) {
  Target target;
  EXPECT_EQ(target.take(0, 3, names("AuthMethod=None|")).outcome, Outcome::authorize);
  EXPECT_EQ(response_in(target.login.grant(1, 1)).next_stage, 3);
  EXPECT_EQ(target.login.parameters().max_recv_data_segment_length, 8192U)
      << "nothing was declared";
}

TEST(TargetLogin, InRdmaModeTheOperationalStageIsNotLeftOut) {
  Preferences p;
  p.rdma_extensions = true;
  Target target(p, true);
  const LoginResponse response = response_in(target.take(0, 3, names("AuthMethod=None|")));
  EXPECT_TRUE(response.transit);
  EXPECT_EQ(response.next_stage, 1);
  EXPECT_EQ(target.take(1, 3, "RDMAExtensions=Yes|").outcome, Outcome::authorize);
}

TEST(TargetLogin, NoneIsTheOnlyMethod) {
  for (const char* list : {"None", "CHAP,None", "KRB5,SRP,None"}) {
    Target target;
    EXPECT_EQ(value_in(text_in(target.take(0, 1, names(std::string("AuthMethod=") + list + "|"))),
                       "AuthMethod"),
              "None")
        << list;
  }
  for (const char* list : {"CHAP", "KRB5,CHAP", "", "none"}) {
    Target target;
    const LoginStep step = target.take(0, {}, names(std::string("AuthMethod=") + list + "|"));
    EXPECT_EQ(status_of(response_in(step)), 0x0201) << list;
    EXPECT_EQ(text_in(step), "AuthMethod=Reject|");
  }
}

// --- fields that stay the same ---

TEST(TargetLogin, FieldsThatChangeEndTheLogin) {
  using Change = void (*)(LoginRequest&);
  const std::pair<const char*, Change> changes[] = {
      {"ISID", [](LoginRequest& r) { r.isid[5] ^= std::byte{1}; }},
      {"TSIH", [](LoginRequest& r) { r.tsih = 1; }},
      {"CID", [](LoginRequest& r) { ++r.cid; }},
      {"Task Tag", [](LoginRequest& r) { ++r.initiator_task_tag; }},
      {"CmdSN", [](LoginRequest& r) { ++r.cmd_sn; }},
      {"Version-max", [](LoginRequest& r) { ++r.version_max; }},
      {"Version-min", [](LoginRequest& r) { ++r.version_min; }},
  };
  for (const auto& [field, change] : changes) {
    Target target;
    target.take(0, 1, names());
    change(target.requests.header);
    const LoginStep step = target.take(1, 3, "");
    EXPECT_EQ(step.error, errc::bad_field) << field;
    EXPECT_EQ(status_of(response_in(step)), 0x0200) << field;
    EXPECT_NE(step.detail.find(field), std::string::npos) << step.detail;
  }
}

TEST(TargetLogin, CmdSnMayMoveWhereOtherConnectionsMoveIt) {
  Target target;
  target.requests.header.tsih = 5;
  target.take(0, 1, names());
  ++target.requests.header.cmd_sn;
  EXPECT_EQ(target.take(1, 3, "").outcome, Outcome::authorize);
}

TEST(TargetLogin, OnlyALeadingConnectionMayNegotiateSessionWideKeys) {
  Target target;
  target.requests.header.tsih = 5;
  EXPECT_EQ(target.take(1, 3, names("MaxConnections=1|")).error, errc::protocol_error);
  Target other;
  other.requests.header.tsih = 5;
  EXPECT_EQ(other.take(1, 3, names("HeaderDigest=None|")).outcome, Outcome::authorize);
}

// --- numbers (tgt bcc970d: wrong in discovery) ---

TEST(TargetLogin, NumbersAreRightInEveryResponse) {
  for (const char* type : {"Normal", "Discovery"}) {
    Target target;
    target.requests.header.cmd_sn = 0xffffffff;
    const LoginStep steps[] = {
        target.take(0, {}, names(std::string("SessionType=") + type + "|"), true),
        target.take(0, 1, ""), target.take(1, {}, "DefaultTime2Wait=1|"),
        target.granted(target.take(1, 3, ""))};
    std::uint32_t stat_sn = response_in(steps[0]).stat_sn;
    for (const LoginStep& step : steps) {
      const LoginResponse response = response_in(step);
      EXPECT_EQ(response.stat_sn, stat_sn++);
      EXPECT_EQ(response.exp_cmd_sn, 0xffffffffU);
      EXPECT_EQ(response.max_cmd_sn, step.outcome == Outcome::succeeded ? 30U : 0xffffffffU);
    }
    const auto& p = target.login.parameters();
    EXPECT_EQ(p.next_cmd_sn, 0xffffffffU);
    EXPECT_EQ(p.next_stat_sn, stat_sn);
    EXPECT_EQ(p.max_cmd_sn, 30U);
  }
}

// --- texts in pieces ---

TEST(TargetLogin, ATextInPiecesIsOneText) {
  const std::string text = names("InitialR2T=No|MaxBurstLength=4096|FirstBurstLength=4096|");
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Target target;
    const LoginStep first = target.take(1, {}, text.substr(0, cut), true);
    EXPECT_EQ(text_in(first), "") << cut;
    EXPECT_FALSE(response_in(first).transit);
    const LoginStep step = target.granted(target.take(1, 3, text.substr(cut)));
    ASSERT_EQ(step.outcome, Outcome::succeeded) << cut << step.detail;
    EXPECT_EQ(target.login.parameters().max_burst_length, 4096U);
  }
}

TEST(TargetLogin, TransitAndContinueExcludeEachOther) {
  Target target;
  const LoginStep step = target.take(1, 3, names(), true);
  EXPECT_EQ(step.error, errc::bad_field);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
  EXPECT_EQ(response_in(step).initiator_task_tag, 0x1234U);
}

TEST(TargetLogin, TextsAreBounded) {
  Target target;
  LoginStep step = target.take(1, {}, names(), true);
  int pdus = 1;
  for (; step.outcome == Outcome::going_on && pdus < 100; ++pdus)
    step = target.take(1, {}, std::string(8192, 'a'), true);
  EXPECT_EQ(step.error, errc::text_too_long);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
  EXPECT_EQ(pdus, 9);
}

TEST(TargetLogin, EmptyPiecesAreBoundedToo) {
  Target target;
  LoginStep step = target.take(1, {}, names(), true);
  int pdus = 1;
  for (; step.outcome == Outcome::going_on && pdus < 1000; ++pdus)
    step = target.take(1, {}, "", true);
  EXPECT_EQ(step.error, errc::negotiation_failed);
  EXPECT_EQ(pdus, 65);
}

TEST(TargetLogin, ADataSegmentBeyondTheDefaultIsRefused) {
  Target target;
  EXPECT_EQ(target.take(1, {}, std::string(8193, 'a'), true).error, errc::data_too_long);
}

TEST(TargetLogin, AdditionalHeadersAreRefused) {
  Target target;
  ControlPdu pdu = target.requests.at(1, 3, names());
  pdu.ahs = Buffer::allocate(4);
  pdu.bhs.set_total_ahs_length(4);
  EXPECT_EQ(target.login.receive(pdu, kStart).error, errc::bad_field);
}

// libiscsi PR 84: zero data, one NUL, many NULs, a missing last NUL.
TEST(TargetLogin, NulsMeanNothing) {
  for (const char* text : {"", "|", "||||"}) {
    Target target;
    target.take(0, 1, names());
    EXPECT_EQ(target.take(1, 3, text).outcome, Outcome::authorize) << text;
  }
  Target target;
  std::string text = names("|||InitialR2T=No|");
  text.pop_back();
  EXPECT_EQ(target.take(1, 3, text).outcome, Outcome::authorize);
  EXPECT_FALSE(target.login.parameters().initial_r2t);
}

TEST(TargetLogin, BadTextEndsTheLogin) {
  const std::pair<std::string, errc> texts[] = {
      {"NoEqualsSign|", errc::bad_text},
      {"=value|", errc::bad_key_name},
      {"Bad key=1|", errc::bad_key_name},
      {"X-" + std::string(62, 'a') + "=1|", errc::bad_key_name},
      {std::string(8000, 'k') + "=|", errc::bad_key_name}};
  for (const auto& [text, error] : texts) {
    Target target;
    const LoginStep step = target.take(1, 3, names(text));
    EXPECT_EQ(step.error, error) << text;
    EXPECT_EQ(status_of(response_in(step)), 0x0200);
  }
}

TEST(TargetLogin, AKeyNameOf63CharactersIsOne) {
  Target target;
  const std::string key = "X-" + std::string(61, 'a');
  const LoginStep step = target.one_request(key + "=1|");
  EXPECT_EQ(value_in(text_in(step), key), "NotUnderstood");
}

// Linux bf33e01f: answers many times as long as the question.
std::string unknown_keys(int from, int count) {
  std::string text;
  for (int i = from; i < from + count; ++i) text += "Z" + std::to_string(i) + "=|";
  return text;
}

class ManyKeys : public testing::TestWithParam<int> {};

TEST_P(ManyKeys, AreAnsweredInPieces) {
  const int count = GetParam();
  Target target;
  ASSERT_FALSE(response_in(target.take(0, 1, names())).status_class);
  LoginStep step = target.take(1, 3, unknown_keys(0, count));
  std::string answer;
  int pdus = 0;
  while (step.outcome == Outcome::going_on && ++pdus < 10) {
    answer += text_in(step);
    EXPECT_TRUE(response_in(step).continues);
    EXPECT_FALSE(response_in(step).transit);
    EXPECT_EQ(step.send->data.size(), 8192U);
    step = target.take(1, 3, "");
  }
  step = target.granted(std::move(step));
  ASSERT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  answer += text_in(step);
  for (const int i : {0, count / 2, count - 1})
    EXPECT_EQ(value_in(answer, "Z" + std::to_string(i)), "NotUnderstood");
}
INSTANTIATE_TEST_SUITE_P(Counts, ManyKeys, testing::Values(1, 2, 100, 400, 409, 410, 411, 1000));

TEST(TargetLogin, TooManyKeysEndTheLogin) {
  Target target;
  target.take(0, 1, names());
  const LoginStep step = target.take(1, 3, unknown_keys(0, 1100));
  EXPECT_EQ(step.error, errc::text_too_long);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
}

TEST(TargetLogin, TooManyKeysInSeveralTextsEndTheLogin) {
  Target target;
  target.take(0, 1, names());
  EXPECT_EQ(target.take(1, {}, unknown_keys(0, 100)).outcome, Outcome::going_on);
  EXPECT_EQ(target.take(1, {}, unknown_keys(100, 1000)).error, errc::text_too_long);
}

TEST(TargetLogin, TwoThousandKeysOfFourBytesEndTheLogin) {
  std::string text;
  for (int i = 0; i < 2048; ++i) text += "a=b|";
  Target target;
  EXPECT_EQ(status_of(response_in(target.take(1, 3, text))), 0x0200);
}

TEST(TargetLogin, TextWhileTheAnswerIsFetchedIsAnError) {
  Target target;
  target.take(0, 1, names());
  target.take(1, 3, unknown_keys(0, 1000));
  EXPECT_EQ(target.take(1, 3, "InitialR2T=No|").error, errc::protocol_error);
}

TEST(TargetLogin, AfterTheLastPieceATransitThatIsNoLongerAskedForIsNotMade) {
  Target target;
  target.take(0, 1, names());
  target.take(1, 3, unknown_keys(0, 500));
  EXPECT_FALSE(response_in(target.take(1, {}, "")).transit);
  EXPECT_EQ(target.take(1, 3, "").outcome, Outcome::authorize);
}

// --- what is no Login Request (RFC 7143 section 4.2.3) ---

TEST(TargetLogin, AnotherPduFirstJustEndsTheConnection) {
  Target target;
  const LoginStep step = target.login.receive(pdu_of(encode(iscsi::NopOut{}), ""), kStart);
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_FALSE(step.send);
}

TEST(TargetLogin, AnotherPduLaterIsInvalidDuringLogin) {
  Target target;
  target.take(0, 1, names());
  const LoginStep step = target.login.receive(pdu_of(encode(iscsi::ScsiCommand{}), ""), kStart);
  EXPECT_EQ(step.error, errc::login_invalid_request);
  EXPECT_EQ(status_of(response_in(step)), 0x020b);
}

// SPDK CVE-2021-28361: no data, but the continue bit.
TEST(TargetLogin, EveryOpcodeAndFlagsByteIsSurvived) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    for (int flags = 0; flags < 256; ++flags) {
      Target target;
      iscsi::Bhs bhs;
      bhs.raw[0] = static_cast<std::byte>(opcode);
      bhs.raw[1] = static_cast<std::byte>(flags);
      const LoginStep step = target.login.receive(pdu_of(bhs, ""), kStart);
      if ((opcode & 0x3f) != 3) {
        EXPECT_FALSE(step.send);
      } else if (step.outcome == Outcome::going_on) {
        EXPECT_EQ(flags & 0xc0, 0x40) << "only a text that continues may be empty";
      }
    }
  }
}

// --- grant and refuse ---

TEST(TargetLogin, RefuseInsteadOfGrant) {
  Target target;
  target.take(1, 3, names());
  const LoginStep step = target.login.refuse(errc::login_too_many_connections);
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0206);
  EXPECT_FALSE(response_in(step).transit);
  EXPECT_EQ(response_in(step).tsih, 0);
}

TEST(TargetLogin, RefuseAfterGrantTakesThePlaceOfThePduThatWasNotSent) {
  Target target;
  target.take(1, 3, names());
  const LoginResponse granted = response_in(target.login.grant(5, 1));
  const LoginStep step = target.login.refuse(errc::login_out_of_resources);
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0302);
  EXPECT_EQ(response_in(step).stat_sn, granted.stat_sn);
}

TEST(TargetLogin, ARequestBeforeTheAnswerEndsTheLogin) {
  Target target;
  target.take(1, 3, names());
  const LoginStep step = target.take(1, 3, "");
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(step.error, errc::protocol_error);
}

// --- time ---

TEST(TargetLogin, EndsAtItsDeadline) {
  Preferences p;
  p.login_timeout = std::chrono::seconds(3);
  Target target(p);
  ASSERT_EQ(target.login.deadline(), kStart + std::chrono::seconds(3));
  EXPECT_EQ(target.login.expired(kStart + std::chrono::milliseconds(2999)).outcome,
            Outcome::going_on);
  const LoginStep step = target.login.expired(kStart + std::chrono::seconds(3));
  EXPECT_EQ(step.error, errc::login_timeout);
  EXPECT_FALSE(step.send);
  EXPECT_FALSE(target.login.deadline());
}

TEST(TargetLogin, ARequestAfterTheDeadlineComesTooLate) {
  Target target;
  EXPECT_EQ(
      target.login.receive(target.requests.at(1, 3, names()), kStart + std::chrono::hours(1)).error,
      errc::login_timeout);
}

TEST(TargetLogin, RequestsDoNotMoveTheDeadline) {
  Target target;
  const auto deadline = target.login.deadline();
  target.login.receive(target.requests.at(0, 1, names()), kStart + std::chrono::seconds(10));
  EXPECT_EQ(target.login.deadline(), deadline);
}

TEST(TargetLogin, AGrantedLoginHasNoDeadline) {
  Target target;
  target.one_request("");
  EXPECT_FALSE(target.login.deadline());
}

TEST(TargetLogin, ParametersAreKnownAsFarAsTheyAre) {
  Target target;
  target.take(0, 1, names());
  EXPECT_EQ(target.login.parameters().initiator_name, kInitiatorName);
  EXPECT_EQ(target.login.parameters().cid, 7);
}

}  // namespace
}  // namespace openiser::test
