// Texts that deployed nodes sent, taken from packet captures of open-iscsi and LIO over iWARP.
#include "tests/support/chap.h"

namespace openiser::test {
namespace {

// open-iscsi 2.1 with ib_iser, no authentication: everything in one request.
constexpr const char* kOpenIscsi =
    "InitiatorName=iqn.2026-11.org.example:guest|InitiatorAlias=(none)|"
    "TargetName=iqn.2026-11.org.example:lio|SessionType=Normal|DefaultTime2Wait=2|"
    "DefaultTime2Retain=0|IFMarker=No|OFMarker=No|ErrorRecoveryLevel=0|InitialR2T=No|"
    "ImmediateData=Yes|MaxBurstLength=16776192|FirstBurstLength=262144|MaxOutstandingR2T=1|"
    "MaxConnections=1|DataPDUInOrder=Yes|DataSequenceInOrder=Yes|"
    "InitiatorRecvDataSegmentLength=262144|TargetRecvDataSegmentLength=8192|RDMAExtensions=Yes|";

// What LIO answered to our kind of request.
constexpr const char* kLio =
    "MaxConnections=1|TargetAlias=LIO Target|TargetPortalGroupTag=1|InitialR2T=Yes|"
    "ImmediateData=Yes|MaxBurstLength=262144|FirstBurstLength=65536|DefaultTime2Wait=2|"
    "DefaultTime2Retain=0|MaxOutstandingR2T=1|ErrorRecoveryLevel=0|IFMarker=No|OFMarker=No|"
    "RDMAExtensions=Yes|InitiatorRecvDataSegmentLength=262144|TargetRecvDataSegmentLength=8192|";

iscsi::Preferences rdma_preferences() {
  iscsi::Preferences p;
  p.rdma_extensions = true;
  p.initiator_recv_data_segment_length = 262144;
  p.max_outstanding_unexpected_pdus = 64;
  return p;
}

// The header as it was on the wire: T, CSG 1, NSG 3, ISID 00023d000001, all else 0.
ControlPdu open_iscsi_request() {
  iscsi::Bhs bhs;
  bhs.raw[0] = std::byte{0x43};
  bhs.raw[1] = std::byte{0x87};
  bhs.raw[9] = std::byte{0x02};
  bhs.raw[10] = std::byte{0x3d};
  bhs.raw[13] = std::byte{0x01};
  return pdu_of(bhs, with_nuls(kOpenIscsi));
}

TEST(Captures, OpenIscsiOverRdmaIsAnsweredInOneResponse) {
  Target target(rdma_preferences(), true);
  target.authority.verdict.target_alias = "Disk";
  ASSERT_EQ(target.login.receive(open_iscsi_request(), kStart).outcome, Outcome::authorize);
  const LoginStep step = target.login.grant(1, 128);
  EXPECT_EQ(step.outcome, Outcome::succeeded);
  EXPECT_EQ(text_in(step),
            "DefaultTime2Wait=2|DefaultTime2Retain=0|IFMarker=No|OFMarker=No|ErrorRecoveryLevel=0|"
            "InitialR2T=No|ImmediateData=Yes|MaxBurstLength=1048576|FirstBurstLength=65536|"
            "MaxOutstandingR2T=1|MaxConnections=1|DataPDUInOrder=Yes|DataSequenceInOrder=Yes|"
            "InitiatorRecvDataSegmentLength=262144|TargetRecvDataSegmentLength=8192|"
            "RDMAExtensions=Yes|TargetAlias=Disk|TargetPortalGroupTag=1|");
  const LoginResponse response = response_in(step);
  EXPECT_TRUE(response.transit);
  EXPECT_EQ(response.next_stage, 3);
  EXPECT_EQ(response.exp_cmd_sn, 0U);
  EXPECT_EQ(response.max_cmd_sn, 127U);
}

// open-iscsi 2.1 discovering through an iser interface: it names no RDMA key.
TEST(Captures, OpenIscsiDiscoversOverRdma) {
  Target target(rdma_preferences(), true);
  const LoginStep step = target.granted(target.take(
      1, 3,
      "InitiatorName=iqn.2026-11.org.example:guest|InitiatorAlias=(none)|SessionType=Discovery|"
      "HeaderDigest=None|DataDigest=None|DefaultTime2Wait=2|DefaultTime2Retain=0|IFMarker=No|"
      "OFMarker=No|ErrorRecoveryLevel=0|MaxRecvDataSegmentLength=8192|"));
  ASSERT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  EXPECT_EQ(text_in(step),
            "HeaderDigest=None|DataDigest=None|DefaultTime2Wait=2|DefaultTime2Retain=0|IFMarker=No|"
            "OFMarker=No|ErrorRecoveryLevel=0|");
  EXPECT_TRUE(target.login.parameters().rdma_extensions);
  EXPECT_EQ(target.login.parameters().max_send_data_segment_length, 8192U);
}

TEST(Captures, OpenIscsiOverRdmaGivesTheseParameters) {
  Target target(rdma_preferences(), true);
  ASSERT_EQ(target.login.receive(open_iscsi_request(), kStart).outcome, Outcome::authorize);
  target.login.grant(1, 128);
  const Lines expected{{"initiator_name", "iqn.2026-11.org.example:guest"},
                       {"initiator_alias", "(none)"},
                       {"target_name", "iqn.2026-11.org.example:lio"},
                       {"isid", "0.2.61.0.0.1."},
                       {"tsih", "1"},
                       {"target_portal_group_tag", "1"},
                       {"default_time2retain", "0"},
                       {"initial_r2t", "0"},
                       {"max_burst_length", "1048576"},
                       {"max_send_data_segment_length", "262144"},
                       {"rdma_extensions", "1"},
                       {"next_cmd_sn", "0"},
                       {"next_stat_sn", "2"},
                       {"max_cmd_sn", "127"}};
  EXPECT_EQ(changes({}, target.login.parameters()), expected);
}

TEST(Captures, TheSamePduOverAByteStreamSwitchesLater) {
  Target target(rdma_preferences(), false);
  ASSERT_EQ(target.login.receive(open_iscsi_request(), kStart).outcome, Outcome::authorize);
  EXPECT_TRUE(target.login.parameters().rdma_extensions);
}

TEST(Captures, OpenIscsiThatWantsChapIsTurnedDown) {
  Target target(rdma_preferences(), true);
  const LoginStep step =
      target.take(0, {}, names("InitiatorAlias=(none)|SessionType=Normal|AuthMethod=CHAP|"));
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(step.error, errc::login_authentication_failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0201);
}

// lio-iser-siw-stock-chap: mutual CHAP between open-iscsi (alice) and LIO (bob). Their secrets are
// not known, so the keys are replayed as they were sent, and the proofs with secrets of ours.
constexpr const char* kLioChallenge =
    "CHAP_A=5|CHAP_I=0|CHAP_C=0x7739fd7e1f6b91dbaacc5d8a9da106ae|";
constexpr const char* kOpenIscsiResponse =
    "CHAP_N=alice|CHAP_R=0xb0d80d1008cbb6cfd2074adc0ae92e1a|"
    "CHAP_I=155|CHAP_C=0xe7d1c6771035f9042dcc35cb4844406d|";
constexpr const char* kLioProof = "CHAP_N=bob|CHAP_R=0x73bb328d02793bfb4d8723835f022104|";

iscsi::SharedChapSettings settings_with(const char* identifier_and_challenge) {
  iscsi::ChapSettings settings = *chap_settings(true);
  settings.target->name = "bob";
  const auto sent = *iscsi::parse_binary(identifier_and_challenge, 64);
  settings.random = [sent](MutableBytes bytes) {
    const bool identifier = bytes.size() == 1;
    std::copy_n(sent.begin() + (identifier ? 0 : 1), bytes.size(), bytes.begin());
    return true;
  };
  return std::make_shared<const iscsi::ChapSettings>(std::move(settings));
}

TEST(Captures, OpenIscsiWithChapIsAnsweredAsLioDoes) {
  Target target(rdma_preferences(), true);
  target.authority.verdict.chap = settings_with("0x007739fd7e1f6b91dbaacc5d8a9da106ae");
  EXPECT_EQ(text_in(target.take(0, {}, names("SessionType=Normal|AuthMethod=CHAP|"))),
            "AuthMethod=CHAP|TargetPortalGroupTag=1|");
  const LoginStep challenge = target.take(0, {}, "CHAP_A=5|");
  EXPECT_EQ(text_in(challenge), kLioChallenge);
  EXPECT_FALSE(response_in(challenge).transit);
  const LoginStep refused = target.take(0, 1, kOpenIscsiResponse);
  EXPECT_EQ(refused.error, errc::login_authentication_failed);
  EXPECT_NE(refused.detail.find("'alice'"), std::string::npos) << refused.detail;
}

TEST(Captures, OurInitiatorSpeaksChapAsOpenIscsiDoes) {
  iscsi::InitiatorIdentity who = identity();
  who.chap = settings_with("0x9be7d1c6771035f9042dcc35cb4844406d");
  iscsi::InitiatorLogin login(who, rdma_preferences(), true, kStart);
  LoginResponse response;
  response.isid = request_in(login.start(kStart)).isid;
  const auto hear = [&](const std::string& text) {
    ++response.stat_sn;
    return login.receive(pdu_of(encode(response), with_nuls(text)), kStart);
  };
  hear("AuthMethod=CHAP|TargetPortalGroupTag=1|");
  const LoginStep answer = hear(kLioChallenge);
  const auto proof = iscsi::chap_response(iscsi::ChapAlgorithm::md5, 0, alice().secret,
                                          binary_in(kLioChallenge, "CHAP_C"));
  EXPECT_EQ(text_in(answer), named_response(alice(), proof) +
                                 "CHAP_I=155|CHAP_C=0xe7d1c6771035f9042dcc35cb4844406d|");
  EXPECT_TRUE(request_in(answer).transit);
  response.transit = true;
  response.next_stage = 1;
  const LoginStep refused = hear(kLioProof);
  EXPECT_EQ(refused.error, errc::login_authentication_failed);
  EXPECT_NE(refused.detail.find("did not prove"), std::string::npos) << refused.detail;
}

TEST(Captures, OurInitiatorTakesLiosAnswer) {
  auto preferences = rdma_preferences();
  preferences.max_outstanding_r2t = 1;
  iscsi::InitiatorLogin login(identity(), preferences, true, kStart);
  const LoginRequest first = request_in(login.start(kStart));
  LoginResponse response;
  response.isid = first.isid;
  response.transit = true;
  // LIO does not know MaxOutstandingUnexpectedPDUs and names markers unasked only if they came.
  std::string answer = kLio;
  answer.erase(answer.find("IFMarker=No|OFMarker=No|"), 24);
  response.current_stage = 1;
  response.next_stage = 3;
  response.tsih = 1;
  response.stat_sn = 0xcd9b9e1b;
  const LoginStep last = login.receive(
      pdu_of(encode(response), with_nuls(answer + "MaxOutstandingUnexpectedPDUs=NotUnderstood|")),
      kStart);
  EXPECT_EQ(last.outcome, Outcome::succeeded) << last.detail;
  EXPECT_EQ(login.parameters().max_recv_data_segment_length, 262144U);
  EXPECT_EQ(login.parameters().max_send_data_segment_length, 8192U);
  EXPECT_EQ(login.parameters().own_max_outstanding_unexpected_pdus, 0U);
}

}  // namespace
}  // namespace openiser::test
