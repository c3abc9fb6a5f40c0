// The initiator's machine against scripted targets.
#include "tests/support/login.h"

namespace openiser::test {
namespace {

using iscsi::InitiatorLogin;
using iscsi::Preferences;

Preferences rdma() {
  Preferences p;
  p.rdma_extensions = true;
  return p;
}

// A machine, and a target that says what the test wants it to.
struct Initiator {
  InitiatorLogin login;
  LoginStep step;
  LoginResponse header;

  bool rdma_connection;

  explicit Initiator(Preferences preferences = {}, bool in_rdma_mode = false,
                     iscsi::InitiatorIdentity who = identity())
      : login(std::move(who), preferences, in_rdma_mode, kStart),
        step(login.start(kStart)),
        rdma_connection(in_rdma_mode) {
    header.isid = Requests::first().isid;
    header.stat_sn = 0x100;
    header.exp_cmd_sn = 1;
    header.max_cmd_sn = 1;
  }

  const LoginStep& hear(const LoginResponse& response, const std::string& text) {
    step = login.receive(pdu_of(encode(response), with_nuls(text)), kStart);
    return step;
  }
  // A response of the stage, with T if `next`.
  const LoginStep& hear(int stage, std::optional<int> next, const std::string& text,
                        bool continues = false) {
    LoginResponse response = header;
    response.current_stage = static_cast<std::uint8_t>(stage);
    response.transit = next.has_value();
    response.next_stage = static_cast<std::uint8_t>(next.value_or(0));
    response.continues = continues;
    if (next == 3) {
      response.tsih = 0x55;
      response.max_cmd_sn = 64;
    }
    ++header.stat_sn;
    return hear(response, text);
  }
  // Through the security stage, if there is one, to the text of the operational offers.
  std::string offers() {
    if (!rdma_connection) hear(0, 1, "AuthMethod=None|TargetPortalGroupTag=1|");
    return text_in(step);
  }
};

// Answers to the offers of default preferences.
constexpr const char* kAnswers =
    "MaxConnections=1|InitialR2T=No|ImmediateData=Yes|MaxBurstLength=1048576|"
    "FirstBurstLength=65536|DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=8|"
    "DataPDUInOrder=Yes|DataSequenceInOrder=Yes|ErrorRecoveryLevel=0|";

TEST(InitiatorLogin, FirstItNamesItself) {
  auto who = identity();
  who.initiator_alias = "my host";
  Initiator initiator({}, false, who);
  EXPECT_EQ(text_in(initiator.step), std::string("InitiatorName=") + kInitiatorName +
                                         "|InitiatorAlias=my host|SessionType=Normal|TargetName=" +
                                         kTargetName + "|AuthMethod=None|");
  const LoginRequest request = request_in(initiator.step);
  EXPECT_TRUE(request.transit);
  EXPECT_EQ(request.current_stage, 0);
  EXPECT_EQ(request.next_stage, 1);
  EXPECT_EQ(request.cid, 7);
  EXPECT_EQ(request.tsih, 0);
  EXPECT_EQ(request.isid, Requests::first().isid);
}

TEST(InitiatorLogin, ThenItOffersWhatItWants) {
  Initiator initiator;
  EXPECT_EQ(initiator.offers(),
            "HeaderDigest=None|DataDigest=None|MaxConnections=1|InitialR2T=No|ImmediateData=Yes|"
            "MaxBurstLength=1048576|"
            "FirstBurstLength=65536|DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=8|"
            "DataPDUInOrder=Yes|DataSequenceInOrder=Yes|ErrorRecoveryLevel=0|"
            "MaxRecvDataSegmentLength=262144|");
  EXPECT_EQ(request_in(initiator.step).current_stage, 1);
  EXPECT_EQ(request_in(initiator.step).next_stage, 3);
}

// A target that hears nothing of them may ask for its own, as tgtd does.
TEST(InitiatorLogin, OffersNoDigestsWhereItWantsNone) {
  for (const char* answer : {"HeaderDigest=None|DataDigest=None|", "HeaderDigest=None|", ""}) {
    Initiator initiator;
    const std::string offers = initiator.offers();
    EXPECT_EQ(value_in(offers, "HeaderDigest"), "None");
    EXPECT_EQ(value_in(offers, "DataDigest"), "None");
    initiator.hear(1, 3, std::string(kAnswers) + answer);
    ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << answer << initiator.step.detail;
    EXPECT_EQ(initiator.login.parameters().header_digest, iscsi::Digest::none);
    EXPECT_EQ(initiator.login.parameters().data_digest, iscsi::Digest::none);
  }
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, 3, std::string(kAnswers) + "HeaderDigest=CRC32C|");
  EXPECT_EQ(initiator.step.error, errc::protocol_error) << "not what was offered";
}

TEST(InitiatorLogin, TheAnswersAreTheParameters) {
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, 3, std::string(kAnswers) + "MaxRecvDataSegmentLength=65536|TargetAlias=Disk|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  EXPECT_FALSE(initiator.step.send);
  const Lines expected{{"initiator_name", kInitiatorName},
                       {"target_name", kTargetName},
                       {"target_alias", "Disk"},
                       {"target_portal_group_tag", "1"},
                       {"isid", "64.1.2.3.4.5."},
                       {"tsih", "85"},
                       {"cid", "7"},
                       {"initial_r2t", "0"},
                       {"max_send_data_segment_length", "65536"},
                       {"max_recv_data_segment_length", "262144"},
                       {"max_burst_length", "1048576"},
                       {"max_outstanding_r2t", "8"},
                       {"default_time2retain", "0"},
                       {"next_stat_sn", "258"},
                       {"max_cmd_sn", "64"}};
  EXPECT_EQ(changes({}, initiator.login.parameters()), expected);
}

// What LIO answers, and what a target might that goes by RFC 7145 section 6.3.
TEST(InitiatorLogin, DiscoveryInRdmaModeStaysThereWhateverTheAnswer) {
  struct Answer {
    const char* text;
    std::uint32_t segment;
  };
  for (const Answer& answer :
       {Answer{"RDMAExtensions=No|InitiatorRecvDataSegmentLength=4096|"
               "TargetRecvDataSegmentLength=8192|",
               4096},
        Answer{"RDMAExtensions=Irrelevant|InitiatorRecvDataSegmentLength=Irrelevant|"
               "TargetRecvDataSegmentLength=Irrelevant|",
               8192},
        Answer{"RDMAExtensions=Yes|InitiatorRecvDataSegmentLength=512|"
               "TargetRecvDataSegmentLength=512|",
               512}}) {
    SCOPED_TRACE(answer.text);
    Initiator initiator(rdma(), true, identity(""));
    EXPECT_EQ(initiator.offers(),
              std::string("InitiatorName=") + kInitiatorName +
                  "|SessionType=Discovery|RDMAExtensions=Yes|TargetRecvDataSegmentLength=8192|"
                  "InitiatorRecvDataSegmentLength=8192|");
    ASSERT_EQ(initiator.hear(1, 3, answer.text).outcome, Outcome::succeeded)
        << initiator.step.detail;
    EXPECT_TRUE(initiator.login.parameters().rdma_extensions);
    EXPECT_EQ(initiator.login.parameters().max_recv_data_segment_length, answer.segment);
  }
}

TEST(InitiatorLogin, DiscoveryOffersNothingOfNormalSessions) {
  Initiator initiator(rdma(), false, identity(""));
  EXPECT_EQ(text_in(initiator.step), std::string("InitiatorName=") + kInitiatorName +
                                         "|SessionType=Discovery|AuthMethod=None|");
  initiator.hear(0, 1, "AuthMethod=None|");
  EXPECT_EQ(text_in(initiator.step), "MaxRecvDataSegmentLength=262144|");
  EXPECT_EQ(initiator.hear(1, 3, "").outcome, Outcome::succeeded);
}

TEST(InitiatorLogin, ExpStatSnAcknowledgesEveryResponse) {
  Initiator initiator;
  initiator.header.stat_sn = 0xffffffff;
  initiator.offers();
  EXPECT_EQ(request_in(initiator.step).exp_stat_sn, 0U);
  initiator.hear(1, {}, "");
  EXPECT_EQ(request_in(initiator.step).exp_stat_sn, 1U);
}

TEST(InitiatorLogin, GoesOnAskingForTheTransit) {
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, {}, kAnswers);
  EXPECT_EQ(text_in(initiator.step), "");
  EXPECT_TRUE(request_in(initiator.step).transit);
  EXPECT_EQ(initiator.hear(1, 3, "").outcome, Outcome::succeeded);
}

TEST(InitiatorLogin, DoesNotAskForever) {
  Initiator initiator;
  initiator.offers();
  int responses = 0;
  while (initiator.hear(1, {}, "").outcome == Outcome::going_on && responses < 1000) ++responses;
  EXPECT_EQ(initiator.step.error, errc::negotiation_failed);
  EXPECT_LT(responses, 100);
}

TEST(InitiatorLogin, AnswersWhatTheTargetOffers) {
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, {},
                 std::string(kAnswers) + "TaskReporting=FastAbort,RFC3720|X-a=1|IFMarker=No|");
  EXPECT_EQ(text_in(initiator.step), "TaskReporting=RFC3720|X-a=NotUnderstood|IFMarker=No|");
  EXPECT_TRUE(request_in(initiator.step).transit);
}

TEST(InitiatorLogin, AnswersInPiecesWhatIsManyTimesAsLong) {
  std::string unknown;
  for (int i = 0; i < 500; ++i) unknown += "Z" + std::to_string(i) + "=|";
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, {}, kAnswers + unknown);
  EXPECT_TRUE(request_in(initiator.step).continues);
  EXPECT_FALSE(request_in(initiator.step).transit);
  std::string answer = text_in(initiator.step);
  initiator.hear(1, {}, "");
  EXPECT_FALSE(request_in(initiator.step).continues);
  answer += text_in(initiator.step);
  EXPECT_EQ(value_in(answer, "Z499"), "NotUnderstood");
  EXPECT_EQ(initiator.hear(1, 3, "").outcome, Outcome::succeeded);
}

TEST(InitiatorLogin, FetchesAnAnswerInPieces) {
  const std::string answers = kAnswers;
  for (std::size_t cut = 0; cut <= answers.size(); cut += 7) {
    Initiator initiator;
    initiator.offers();
    initiator.hear(1, {}, answers.substr(0, cut), true);
    EXPECT_EQ(text_in(initiator.step), "");
    EXPECT_EQ(initiator.hear(1, 3, answers.substr(cut)).outcome, Outcome::succeeded) << cut;
  }
}

TEST(InitiatorLogin, AnswersAreBounded) {
  Initiator initiator;
  initiator.offers();
  int responses = 0;
  while (initiator.hear(1, {}, std::string(8192, 'a'), true).outcome == Outcome::going_on &&
         responses < 100)
    ++responses;
  EXPECT_EQ(initiator.step.error, errc::text_too_long);
  EXPECT_EQ(responses, 7);
}

// --- answers that are none ---

struct Wrong {
  const char* instead_of;
  const char* answer;
  errc error;
};
class WrongAnswer : public testing::TestWithParam<Wrong> {};

TEST_P(WrongAnswer, EndsTheLogin) {
  const auto& [instead_of, answer, error] = GetParam();
  std::string answers = kAnswers;
  const auto at = answers.find(instead_of);
  ASSERT_NE(at, std::string::npos);
  answers.replace(at, std::string(instead_of).size(), answer);
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, 3, answers);
  EXPECT_EQ(initiator.step.outcome, Outcome::failed);
  EXPECT_EQ(initiator.step.error, error) << initiator.step.detail;
  EXPECT_FALSE(initiator.step.detail.empty());
  EXPECT_FALSE(initiator.step.send);
}
INSTANTIATE_TEST_SUITE_P(
    Keys, WrongAnswer,
    testing::Values(
        Wrong{"MaxBurstLength=1048576", "MaxBurstLength=1048577", errc::protocol_error},
        Wrong{"MaxBurstLength=1048576", "MaxBurstLength=511", errc::protocol_error},
        Wrong{"MaxBurstLength=1048576", "MaxBurstLength=", errc::protocol_error},
        Wrong{"MaxBurstLength=1048576|", "", errc::negotiation_failed},
        Wrong{"MaxBurstLength=1048576", "MaxBurstLength=Reject", errc::negotiation_failed},
        Wrong{"MaxBurstLength=1048576", "MaxBurstLength=NotUnderstood", errc::protocol_error},
        Wrong{"InitialR2T=No", "InitialR2T=Maybe", errc::protocol_error},
        Wrong{"InitialR2T=No|", "", errc::negotiation_failed},
        Wrong{"DefaultTime2Wait=2", "DefaultTime2Wait=1", errc::protocol_error},
        Wrong{"MaxConnections=1", "MaxConnections=2", errc::protocol_error},
        Wrong{"DataPDUInOrder=Yes", "DataPDUInOrder=No", errc::protocol_error},
        Wrong{"ErrorRecoveryLevel=0", "ErrorRecoveryLevel=1", errc::protocol_error},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|ErrorRecoveryLevel=0|",
              errc::duplicate_key},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|MaxRecvDataSegmentLength=1|",
              errc::negotiation_failed},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|IFMarker=No|", errc::protocol_error},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|InitiatorName=a|",
              errc::protocol_error},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|MaxAHSLength=NotUnderstood|",
              errc::protocol_error},
        Wrong{"ErrorRecoveryLevel=0|", "ErrorRecoveryLevel=0|NoEqualsSign|", errc::bad_text}));

TEST(InitiatorLogin, IrrelevantLeavesTheDefault) {
  std::string answers = kAnswers;
  answers.replace(answers.find("MaxBurstLength=1048576"), 22, "MaxBurstLength=Irrelevant");
  Initiator initiator;
  initiator.offers();
  EXPECT_EQ(initiator.hear(1, 3, answers).outcome, Outcome::succeeded);
  EXPECT_EQ(initiator.login.parameters().max_burst_length, 262144U);
}

// RFC 7143 section 6.2.2
TEST(InitiatorLogin, AnswersThatAreOptionalMayBeMissing) {
  Preferences p;
  p.initial_r2t = true;
  p.immediate_data = false;
  Initiator initiator(p);
  EXPECT_EQ(value_in(initiator.offers(), "FirstBurstLength"), "-") << "irrelevant then";
  initiator.hear(1, 3,
                 "MaxConnections=1|MaxBurstLength=1048576|DefaultTime2Wait=2|DefaultTime2Retain=0|"
                 "MaxOutstandingR2T=8|ErrorRecoveryLevel=0|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  EXPECT_TRUE(initiator.login.parameters().initial_r2t);
  EXPECT_FALSE(initiator.login.parameters().immediate_data);
}

TEST(InitiatorLogin, AFirstBurstAboveTheMaxBurstIsCut) {
  std::string answers = kAnswers;
  answers.replace(answers.find("MaxBurstLength=1048576"), 22, "MaxBurstLength=4096");
  Initiator initiator;
  initiator.offers();
  EXPECT_EQ(initiator.hear(1, 3, answers).outcome, Outcome::succeeded);
  EXPECT_EQ(initiator.login.parameters().first_burst_length, 4096U);
}

TEST(InitiatorLogin, AnotherMethodThanOfferedIsAnError) {
  Initiator initiator;
  EXPECT_EQ(initiator.hear(0, 1, "AuthMethod=CHAP|").error, errc::protocol_error);
}

TEST(InitiatorLogin, NotUnderstoodAfterAFinalAnswerHasNobodyToGoTo) {
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, 3, std::string(kAnswers) + "X-a=1|");
  EXPECT_EQ(initiator.step.outcome, Outcome::succeeded);
  EXPECT_FALSE(initiator.step.send);
}

// --- header fields ---

TEST(InitiatorLogin, WrongHeadersEndTheLogin) {
  using Change = void (*)(LoginResponse&);
  const std::pair<const char*, Change> changes[] = {
      {"stage", [](LoginResponse& r) { r.current_stage = 1; }},
      {"version", [](LoginResponse& r) { r.version_active = 1; }},
      {"next stage 0", [](LoginResponse& r) { r.next_stage = 0; }},
      {"next stage 2", [](LoginResponse& r) { r.next_stage = 2; }},
      {"next stage 3", [](LoginResponse& r) { r.next_stage = 3; }},
      {"tag", [](LoginResponse& r) { r.initiator_task_tag = 1; }},
      {"T and C", [](LoginResponse& r) { r.continues = true; }}};
  for (const auto& [what, change] : changes) {
    Initiator initiator;
    LoginResponse response = initiator.header;
    response.transit = true;
    response.next_stage = 1;
    change(response);
    EXPECT_EQ(initiator.hear(response, "AuthMethod=None|").error, errc::bad_field) << what;
  }
}

TEST(InitiatorLogin, ATransitThatWasNotAskedForIsAnError) {
  std::string unknown;
  for (int i = 0; i < 500; ++i) unknown += "Z" + std::to_string(i) + "=|";
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, {}, kAnswers + unknown);
  EXPECT_EQ(initiator.hear(1, 3, "").error, errc::bad_field);
}

TEST(InitiatorLogin, TextBeforeOursIsCompleteIsAnError) {
  std::string unknown;
  for (int i = 0; i < 500; ++i) unknown += "Z" + std::to_string(i) + "=|";
  Initiator initiator;
  initiator.offers();
  initiator.hear(1, {}, kAnswers + unknown);
  EXPECT_EQ(initiator.hear(1, {}, "X-a=1|").error, errc::protocol_error);
}

TEST(InitiatorLogin, TheFinalResponseHasTheHandleOfTheSession) {
  Initiator fresh;
  fresh.offers();
  LoginResponse response = fresh.header;
  response.transit = true;
  response.current_stage = 1;
  response.next_stage = 3;
  EXPECT_EQ(fresh.hear(response, kAnswers).error, errc::bad_field) << "TSIH 0";
}

TEST(InitiatorLogin, AnotherPduEndsTheLogin) {
  Initiator initiator;
  initiator.step = initiator.login.receive(pdu_of(encode(iscsi::NopIn{}), ""), kStart);
  EXPECT_EQ(initiator.step.error, errc::unexpected_pdu);
  EXPECT_FALSE(initiator.step.send);
}

// --- statuses ---

LoginResponse with_status(const Initiator& initiator, int status) {
  LoginResponse response = initiator.header;
  response.status_class = static_cast<std::uint8_t>(status >> 8);
  response.status_detail = static_cast<std::uint8_t>(status);
  return response;
}

TEST(InitiatorLogin, AStatusIsAnErrorWithWords) {
  const std::pair<int, errc> statuses[] = {{0x0200, errc::login_initiator_error},
                                           {0x0201, errc::login_authentication_failed},
                                           {0x0203, errc::login_target_not_found},
                                           {0x020a, errc::login_session_missing},
                                           {0x0302, errc::login_out_of_resources}};
  for (const auto& [status, error] : statuses) {
    Initiator initiator;
    initiator.hear(with_status(initiator, status), "");
    EXPECT_EQ(initiator.step.outcome, Outcome::failed);
    EXPECT_EQ(initiator.step.error, error);
  }
  Initiator initiator;
  initiator.hear(with_status(initiator, 0x02ab), "MaxBurstLength=Reject|");
  EXPECT_EQ(initiator.step.error, errc::login_initiator_error);
  EXPECT_EQ(initiator.step.detail, "the target answered with status 0x02ab, MaxBurstLength=Reject");
}

TEST(InitiatorLogin, ARedirectNamesTheOtherAddress) {
  for (const int status : {0x0101, 0x0102}) {
    Initiator initiator;
    initiator.hear(with_status(initiator, status),
                   "TargetAddress=[2001:db8::1]:3261|TargetAddress=10.0.0.1|");
    EXPECT_EQ(initiator.step.error, status == 0x0102 ? errc::login_moved : errc::login_redirected);
    EXPECT_EQ(initiator.login.redirect_address(), "[2001:db8::1]:3261");
  }
}

TEST(InitiatorLogin, ARedirectToNowhereIsAnError) {
  for (const int status : {0x0101, 0x0102}) {
    Initiator initiator;
    initiator.hear(with_status(initiator, status), "");
    EXPECT_EQ(initiator.step.error, errc::protocol_error);
  }
}

// --- RDMA ---

constexpr const char* kRdmaAnswers =
    "RDMAExtensions=Yes|TargetRecvDataSegmentLength=4096|InitiatorRecvDataSegmentLength=2048|";

TEST(InitiatorRdma, OffersOnAByteStream) {
  Preferences p = rdma();
  p.max_outstanding_unexpected_pdus = 12;
  p.max_ahs_length = 0;
  p.tagged_buffer_for_solicited_data_only = true;
  p.iser_hello_required = true;
  Initiator initiator(p);
  const std::string offers = initiator.offers();
  EXPECT_EQ(value_in(offers, "RDMAExtensions"), "Yes");
  EXPECT_EQ(value_in(offers, "TargetRecvDataSegmentLength"), "8192");
  EXPECT_EQ(value_in(offers, "InitiatorRecvDataSegmentLength"), "8192");
  EXPECT_EQ(value_in(offers, "MaxRecvDataSegmentLength"), "262144") << "for a No";
  EXPECT_EQ(value_in(offers, "MaxOutstandingUnexpectedPDUs"), "12");
  EXPECT_EQ(value_in(offers, "MaxAHSLength"), "0");
  EXPECT_EQ(value_in(offers, "TaggedBufferForSolicitedDataOnly"), "Yes");
  EXPECT_EQ(value_in(offers, "iSERHelloRequired"), "Yes");
}

// One request and one response: LIO spoils its answer to a second request that comes quickly.
TEST(InitiatorRdma, OverRdmaOneRequestSaysAll) {
  Initiator initiator(rdma(), true);
  const LoginRequest request = request_in(initiator.step);
  EXPECT_TRUE(request.transit);
  EXPECT_EQ(request.current_stage, 1);
  EXPECT_EQ(request.next_stage, 3);
  EXPECT_EQ(value_in(initiator.offers(), "InitiatorName"), kInitiatorName);
  EXPECT_EQ(value_in(initiator.offers(), "TargetName"), kTargetName);
  EXPECT_EQ(value_in(initiator.offers(), "AuthMethod"), "-");
  initiator.hear(1, 3, std::string("TargetPortalGroupTag=7|") + kAnswers + kRdmaAnswers);
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  EXPECT_EQ(initiator.login.parameters().target_portal_group_tag, 7);
}

TEST(InitiatorRdma, OffersOverRdmaWhatLinuxOffers) {
  Initiator initiator(rdma(), true);
  const std::string offers = initiator.offers();
  EXPECT_EQ(value_in(offers, "RDMAExtensions"), "Yes");
  for (const char* key :
       {"MaxRecvDataSegmentLength", "HeaderDigest", "DataDigest", "MaxAHSLength",
        "MaxOutstandingUnexpectedPDUs", "iSERHelloRequired", "TaggedBufferForSolicitedDataOnly"})
    EXPECT_EQ(value_in(offers, key), "-") << key;
}

TEST(InitiatorRdma, OfRfc5046OffersNoNewerKey) {
  Preferences p = rdma();
  p.rfc7145 = false;
  p.tagged_buffer_for_solicited_data_only = p.iser_hello_required = true;
  p.max_ahs_length = 1024;
  Initiator initiator(p);
  const std::string offers = initiator.offers();
  for (const char* key : {"MaxAHSLength", "iSERHelloRequired", "TaggedBufferForSolicitedDataOnly"})
    EXPECT_EQ(value_in(offers, key), "-") << key;
}

TEST(InitiatorRdma, LengthsAreSeenFromItsSide) {
  Initiator initiator(rdma());
  initiator.offers();
  initiator.hear(1, 3, std::string(kAnswers) + kRdmaAnswers + "MaxRecvDataSegmentLength=512|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  const auto& p = initiator.login.parameters();
  EXPECT_TRUE(p.rdma_extensions);
  EXPECT_EQ(p.max_send_data_segment_length, 4096U);
  EXPECT_EQ(p.max_recv_data_segment_length, 2048U);
  EXPECT_EQ(p.iser_hello_required, iscsi::Parameters::HelloRequired::no) << "declared No";
}

TEST(InitiatorRdma, KeysThatTheTargetDoesNotKnowAreNotUsed) {
  Preferences p = rdma();
  p.tagged_buffer_for_solicited_data_only = p.iser_hello_required = true;
  p.max_outstanding_unexpected_pdus = 12;
  Initiator initiator(p);
  initiator.offers();
  initiator.hear(1, 3,
                 std::string(kAnswers) + kRdmaAnswers +
                     "iSERHelloRequired=NotUnderstood|MaxOutstandingUnexpectedPDUs=NotUnderstood|"
                     "TaggedBufferForSolicitedDataOnly=NotUnderstood|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  const auto& result = initiator.login.parameters();
  EXPECT_EQ(result.iser_hello_required, iscsi::Parameters::HelloRequired::not_negotiated);
  EXPECT_FALSE(result.tagged_buffer_for_solicited_data_only);
  EXPECT_EQ(result.own_max_outstanding_unexpected_pdus, 0U);
}

TEST(InitiatorRdma, DigestsAreForcedToNone) {
  Preferences p = rdma();
  p.header_digest_crc32c = p.data_digest_crc32c = true;
  Initiator initiator(p);
  EXPECT_EQ(value_in(initiator.offers(), "HeaderDigest"), "CRC32C,None");
  initiator.hear(
      1, 3, std::string(kAnswers) + kRdmaAnswers + "HeaderDigest=CRC32C|DataDigest=Irrelevant|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  EXPECT_EQ(initiator.login.parameters().header_digest, iscsi::Digest::none);
}

class NoRdma : public testing::TestWithParam<const char*> {};

TEST_P(NoRdma, GoesOnAsPlainIscsi) {
  Initiator initiator(rdma());
  initiator.offers();
  initiator.hear(1, 3, kAnswers + std::string(GetParam()) + "MaxRecvDataSegmentLength=4096|");
  ASSERT_EQ(initiator.step.outcome, Outcome::succeeded) << initiator.step.detail;
  const auto& p = initiator.login.parameters();
  EXPECT_FALSE(p.rdma_extensions);
  EXPECT_EQ(p.max_send_data_segment_length, 4096U);
  EXPECT_EQ(p.max_recv_data_segment_length, 262144U);
  EXPECT_EQ(p.iser_hello_required, iscsi::Parameters::HelloRequired::not_negotiated);
}

TEST_P(NoRdma, FailsWhereItIsRequired) {
  Preferences required = rdma();
  required.rdma_required = true;
  for (const bool rdma_connection : {false, true}) {
    Initiator initiator(rdma_connection ? rdma() : required, rdma_connection);
    initiator.offers();
    std::string answers = kAnswers + std::string(GetParam());
    if (rdma_connection) answers.erase(answers.find("iSERHelloRequired"));
    initiator.hear(1, 3, answers);
    EXPECT_EQ(initiator.step.outcome, Outcome::failed);
    EXPECT_EQ(initiator.step.error, errc::negotiation_failed);
    EXPECT_NE(initiator.step.detail.find("RDMAExtensions"), std::string::npos);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Answers, NoRdma,
    testing::Values("RDMAExtensions=No|TargetRecvDataSegmentLength=Irrelevant|"
                    "InitiatorRecvDataSegmentLength=Irrelevant|iSERHelloRequired=Irrelevant|",
                    "RDMAExtensions=NotUnderstood|TargetRecvDataSegmentLength=NotUnderstood|"
                    "InitiatorRecvDataSegmentLength=NotUnderstood|iSERHelloRequired=NotUnderstood|",
                    "RDMAExtensions=Reject|TargetRecvDataSegmentLength=Reject|"
                    "InitiatorRecvDataSegmentLength=Reject|iSERHelloRequired=Reject|"));

// --- time ---

TEST(InitiatorLogin, EndsAtItsDeadline) {
  Initiator initiator;
  const auto deadline = initiator.login.deadline();
  ASSERT_EQ(deadline, kStart + std::chrono::seconds(15));
  EXPECT_EQ(initiator.login.expired(*deadline - std::chrono::nanoseconds(1)).outcome,
            Outcome::going_on);
  EXPECT_EQ(initiator.login.expired(*deadline).error, errc::login_timeout);
  EXPECT_FALSE(initiator.login.deadline());
}

TEST(InitiatorLogin, NamesThatCannotBeSentAreRefused) {
  for (const std::string& name : {std::string("a\0b", 3), std::string(300, 'a')}) {
    Initiator initiator({}, false, identity(name));
    EXPECT_EQ(initiator.step.error, errc::bad_text);
    EXPECT_FALSE(initiator.step.send);
  }
}

}  // namespace
}  // namespace openiser::test
