// Texts that deployed nodes sent, taken from packet captures of open-iscsi and LIO over iWARP.
#include "tests/support/login.h"

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
