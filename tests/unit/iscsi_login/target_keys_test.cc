// What a target answers to each key, and what comes of it in Parameters.
#include <set>

#include "iscsi/login/key_table.h"
#include "tests/support/login.h"

namespace openiser::test {
namespace {

using iscsi::Preferences;

// The answer to `offer` alone, with the RDMA keys on.
std::string answer_to(const std::string& offer, const Preferences& preferences = {}) {
  Target target(preferences);
  const LoginStep step = target.one_request(offer + "|");
  return value_in(text_in(step), offer.substr(0, offer.find('=')));
}

// Parameters after `text`, less what every login of Target::one_request() changes.
Lines result_of(const std::string& text, const Preferences& preferences = {},
                bool rdma_connection = false) {
  Target plain;
  plain.one_request("");
  Target target(preferences, rdma_connection);
  const LoginStep step = target.one_request(text);
  EXPECT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  return changes(plain.login.parameters(), target.login.parameters());
}

Preferences rdma() {
  Preferences p;
  p.rdma_extensions = true;
  return p;
}

struct Row {
  const char* offer;
  const char* answer;
  Lines result;
};

class Answer : public testing::TestWithParam<Row> {};

// Preferences: the defaults (MaxBurstLength 1 MiB, FirstBurstLength 64 KiB, ...).
const Row kAnswers[] = {
    {"HeaderDigest=None", "None", {}},
    {"HeaderDigest=CRC32C,None", "None", {}},
    {"DataDigest=Y-com.example.sum,None", "None", {}},
    {"OFMarker=Yes", "No", {}},
    {"IFMarker=No", "No", {}},
    {"OFMarkInt=2048~8192", "Reject", {}},
    {"IFMarkInt=2048", "Reject", {}},
    {"MaxConnections=8", "1", {}},
    {"InitialR2T=No", "No", {{"initial_r2t", "0"}}},
    {"InitialR2T=Yes", "Yes", {}},
    {"ImmediateData=No", "No", {{"immediate_data", "0"}}},
    {"ImmediateData=Yes", "Yes", {}},
    {"MaxRecvDataSegmentLength=0x1000", "262144", {{"max_send_data_segment_length", "4096"}}},
    {"MaxBurstLength=16777215", "1048576", {{"max_burst_length", "1048576"}}},
    {"FirstBurstLength=16777215", "65536", {}},
    {"FirstBurstLength=0x400", "1024", {{"first_burst_length", "1024"}}},
    {"DefaultTime2Wait=0", "2", {}},
    {"DefaultTime2Wait=3600", "3600", {{"default_time2wait", "3600"}}},
    {"DefaultTime2Retain=3600", "0", {{"default_time2retain", "0"}}},
    {"MaxOutstandingR2T=65535", "8", {{"max_outstanding_r2t", "8"}}},
    {"DataPDUInOrder=No", "Yes", {}},
    {"DataSequenceInOrder=Yes", "Yes", {}},
    {"ErrorRecoveryLevel=2", "0", {}},
    {"TaskReporting=FastAbort,ResponseFence,RFC3720", "RFC3720", {}},
    {"iSCSIProtocolLevel=2", "1", {}},
    {"X#NodeArchitecture=ExampleOS/v1", "-", {}},
    {"InitiatorAlias=Bob's host", "-", {{"initiator_alias", "Bob's host"}}},
    {"RDMAExtensions=Yes", "No", {}},
    {"RDMAExtensions=No", "No", {}},
    {"TargetRecvDataSegmentLength=4096", "Irrelevant", {}},
    {"InitiatorRecvDataSegmentLength=4096", "Irrelevant", {}},
    {"MaxOutstandingUnexpectedPDUs=32", "-", {}},
    {"MaxAHSLength=0", "-", {}},
    {"TaggedBufferForSolicitedDataOnly=Yes", "-", {}},
    {"iSERHelloRequired=Yes", "-", {}},
    {"X-com.example.bar=1", "NotUnderstood", {}},
    {"X#com.example=1", "NotUnderstood", {}},
    {"NewKey=", "NotUnderstood", {}},
};

TEST_P(Answer, IsByTheTable) {
  const Row& row = GetParam();
  EXPECT_EQ(answer_to(row.offer), row.answer);
  EXPECT_EQ(result_of(std::string(row.offer) + "|"), row.result);
}
INSTANTIATE_TEST_SUITE_P(Keys, Answer, testing::ValuesIn(kAnswers));

// --- declared and offered by the target itself ---

TEST(TargetKeys, DeclaresWhatItReceives) {
  Preferences p;
  p.max_recv_data_segment_length = 100000;
  Target target(p);
  EXPECT_EQ(text_in(target.one_request("")),
            "TargetPortalGroupTag=1|MaxRecvDataSegmentLength=100000|");
  EXPECT_EQ(target.login.parameters().max_recv_data_segment_length, 100000U);
}

TEST(TargetKeys, OffersABurstThatFitsASmallMaxBurst) {
  Target target;
  const LoginStep first = target.take(1, 3, names("MaxBurstLength=512|"));
  EXPECT_EQ(value_in(text_in(first), "FirstBurstLength"), "512");
  EXPECT_FALSE(response_in(first).transit) << "an offer needs an answer";
  const LoginStep second = target.granted(target.take(1, 3, "FirstBurstLength=512|"));
  EXPECT_EQ(second.outcome, Outcome::succeeded) << second.detail;
  EXPECT_EQ(target.login.parameters().first_burst_length, 512U);
}

TEST(TargetKeys, InsistsWhereTheDefaultIsTooMuch) {
  Preferences p;
  p.immediate_data = false;
  p.max_burst_length = 4096;
  Target target(p);
  const std::string text = text_in(target.take(1, 3, names()));
  EXPECT_EQ(value_in(text, "ImmediateData"), "No");
  EXPECT_EQ(value_in(text, "MaxBurstLength"), "4096");
}

TEST(TargetKeys, DoesNotEndTheStageWhileAnOfferIsOpen) {
  Preferences p;
  p.max_burst_length = 4096;
  p.first_burst_length = 4096;
  Target target(p);
  target.take(1, 3, names());
  const LoginStep ignored = target.take(1, 3, "");
  EXPECT_FALSE(response_in(ignored).transit);
  EXPECT_EQ(text_in(ignored), "") << "an offer is made once";
}

TEST(TargetKeys, WaitsWithOffersUntilTheInitiatorIsThrough) {
  Preferences p;
  p.max_burst_length = 4096;
  Target target(p);
  EXPECT_EQ(value_in(text_in(target.take(1, {}, names())), "MaxBurstLength"), "-");
  EXPECT_EQ(value_in(text_in(target.take(1, {}, "MaxBurstLength=8192|")), "MaxBurstLength"),
            "4096");
}

TEST(TargetKeys, AnAnswerOutsideOfItsOfferIsAnError) {
  for (const char* answer : {"8192", "511", "x", ""}) {
    Preferences p;
    p.max_burst_length = 4096;
    Target target(p);
    target.take(1, 3, names());
    const LoginStep step = target.take(1, 3, std::string("MaxBurstLength=") + answer + "|");
    EXPECT_EQ(step.error, errc::protocol_error) << answer;
    EXPECT_EQ(status_of(response_in(step)), 0x0200) << answer;
  }
}

TEST(TargetKeys, AnAnswerWithinTheOfferIsTheResult) {
  Preferences p;
  p.max_burst_length = 4096;
  p.first_burst_length = 1024;
  Target target(p);
  target.take(1, 3, names());
  const LoginStep step =
      target.granted(target.take(1, 3, "MaxBurstLength=2048|FirstBurstLength=512|"));
  EXPECT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  EXPECT_EQ(target.login.parameters().max_burst_length, 2048U);
  EXPECT_EQ(target.login.parameters().first_burst_length, 512U);
}

TEST(TargetKeys, RejectOfAnOfferEndsTheLogin) {
  Preferences p;
  p.max_burst_length = 4096;
  Target target(p);
  target.take(1, 3, names());
  EXPECT_EQ(target.take(1, 3, "MaxBurstLength=Reject|").error, errc::negotiation_failed);
}

// --- values that are none ---

class BadValue : public testing::TestWithParam<const char*> {};

TEST_P(BadValue, IsAnsweredWithRejectInALoginReject) {
  Target target;
  const LoginStep step = target.one_request(std::string(GetParam()) + "|");
  const std::string key = std::string(GetParam()).substr(0, std::string(GetParam()).find('='));
  EXPECT_EQ(step.outcome, Outcome::failed);
  EXPECT_EQ(step.error, errc::negotiation_failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
  EXPECT_EQ(text_in(step), key + "=Reject|");
  EXPECT_NE(step.detail.find(key), std::string::npos) << step.detail;
}
INSTANTIATE_TEST_SUITE_P(
    Keys, BadValue,
    testing::Values("HeaderDigest=CRC32C", "DataDigest=", "DataDigest=MD5", "HeaderDigest=none",
                    "MaxConnections=0", "MaxConnections=65536", "InitialR2T=yes",
                    "InitialR2T=", "ImmediateData=1", "MaxBurstLength=511",
                    "MaxBurstLength=16777216", "MaxBurstLength=-1", "MaxBurstLength=512~1024",
                    "MaxBurstLength=0512", "FirstBurstLength=99999999999999999999",
                    "DefaultTime2Wait=3601", "DefaultTime2Retain=0x", "MaxOutstandingR2T=0",
                    "DataPDUInOrder=Maybe", "DataSequenceInOrder=None", "ErrorRecoveryLevel=3",
                    "TaskReporting=FastAbort", "iSCSIProtocolLevel=32", "RDMAExtensions=yes"));

class BadDeclaration : public testing::TestWithParam<const char*> {};

TEST_P(BadDeclaration, EndsTheLogin) {
  Target target(rdma());
  const LoginStep step = target.one_request("RDMAExtensions=Yes|" + std::string(GetParam()) + "|");
  EXPECT_EQ(step.error, errc::negotiation_failed);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
}
INSTANTIATE_TEST_SUITE_P(Keys, BadDeclaration,
                         testing::Values("MaxRecvDataSegmentLength=511", "SessionType=Other",
                                         "MaxRecvDataSegmentLength=16777216",
                                         "MaxOutstandingUnexpectedPDUs=1", "MaxAHSLength=1",
                                         "MaxAHSLength=4294967296", "iSERHelloRequired=Maybe",
                                         "TaggedBufferForSolicitedDataOnly="));

class Misplaced : public testing::TestWithParam<const char*> {};

TEST_P(Misplaced, IsAProtocolError) {
  Target target;
  const LoginStep step = target.one_request(std::string(GetParam()) + "|");
  EXPECT_EQ(step.error, errc::protocol_error) << step.detail;
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
}
INSTANTIATE_TEST_SUITE_P(Keys, Misplaced,
                         testing::Values("TargetAlias=x", "TargetAddress=1.2.3.4",
                                         "TargetPortalGroupTag=1", "SendTargets=All",
                                         "AuthMethod=None", "MaxBurstLength=NotUnderstood",
                                         "InitialR2T=Irrelevant", "HeaderDigest=Reject",
                                         "InitiatorAlias=Reject", "X-a=NotUnderstood"));

TEST(TargetKeys, OperationalKeysAreNotForTheSecurityStage) {
  for (const iscsi::KeySpec& spec : iscsi::key_table()) {
    if (spec.stages != iscsi::Stages::operational) continue;
    Target target(rdma());
    const LoginStep step =
        target.take(0, 1, names(std::string(spec.name) + "=" + std::string(spec.fallback) + "|"));
    EXPECT_EQ(step.outcome, Outcome::failed) << spec.name;
    EXPECT_EQ(step.error, errc::protocol_error) << spec.name;
  }
}

// --- a key comes once ---

TEST(TargetKeys, AKeyThatComesTwiceInOneTextEndsTheLogin) {
  for (const char* twice : {"MaxBurstLength=512|MaxBurstLength=512|", "X-a=1|X-a=1|",
                            "InitiatorAlias=a|InitiatorAlias=b|",
                            "MaxRecvDataSegmentLength=512|MaxRecvDataSegmentLength=512|"}) {
    Target target;
    const LoginStep step = target.one_request(twice);
    EXPECT_EQ(step.error, errc::duplicate_key) << twice;
    EXPECT_EQ(status_of(response_in(step)), 0x0200);
  }
}

TEST(TargetKeys, AKeyThatComesAgainInALaterTextEndsTheLogin) {
  for (const char* key : {"MaxBurstLength=512|", "X-a=1|", "InitiatorAlias=a|"}) {
    Target target;
    target.take(1, {}, names(key));
    EXPECT_EQ(target.take(1, {}, key).error, errc::duplicate_key) << key;
  }
}

TEST(TargetKeys, NamesMayNotBeDeclaredAgain) {
  Target target;
  target.take(0, 1, names());
  EXPECT_EQ(target.take(1, 3, std::string("InitiatorName=") + kInitiatorName + "|").error,
            errc::duplicate_key);
}

// --- dependencies ---

TEST(TargetKeys, FirstBurstIsIrrelevantWithoutUnsolicitedData) {
  Target target;
  const std::string text =
      text_in(target.one_request("FirstBurstLength=1024|InitialR2T=Yes|ImmediateData=No|"));
  EXPECT_EQ(value_in(text, "FirstBurstLength"), "Irrelevant");
}

TEST(TargetKeys, FirstBurstIsRelevantInTheThreeOtherCells) {
  for (const char* cell : {"InitialR2T=Yes|ImmediateData=Yes|", "InitialR2T=No|ImmediateData=No|",
                           "InitialR2T=No|ImmediateData=Yes|"}) {
    Target target;
    const std::string text =
        text_in(target.one_request(std::string("FirstBurstLength=1024|") + cell));
    EXPECT_EQ(value_in(text, "FirstBurstLength"), "1024") << cell;
  }
}

TEST(TargetKeys, FirstBurstStaysWithinMaxBurst) {
  Target target;
  const std::string text =
      text_in(target.one_request("FirstBurstLength=65536|MaxBurstLength=4096|"));
  EXPECT_EQ(value_in(text, "FirstBurstLength"), "4096");
}

TEST(TargetKeys, MaxBurstMayNotFallBelowAFirstBurstThatIsAgreed) {
  Target target;
  target.take(1, {}, names("FirstBurstLength=65536|"));
  const LoginStep step = target.take(1, 3, "MaxBurstLength=4096|");
  EXPECT_EQ(step.error, errc::negotiation_failed);
  EXPECT_NE(step.detail.find("65536"), std::string::npos) << step.detail;
}

TEST(TargetKeys, DigestsFollowThePreferences) {
  Preferences p;
  p.header_digest_crc32c = p.data_digest_crc32c = true;
  EXPECT_EQ(answer_to("HeaderDigest=CRC32C,None", p), "CRC32C");
  EXPECT_EQ(answer_to("HeaderDigest=None,CRC32C", p), "None") << "the initiator's order counts";
  EXPECT_EQ(answer_to("DataDigest=Z,CRC32C", p), "CRC32C");
  EXPECT_EQ(result_of("HeaderDigest=CRC32C|DataDigest=CRC32C,None|", p),
            (Lines{{"header_digest", "1"}, {"data_digest", "1"}}));
}

TEST(TargetKeys, DemandsADigestThatIsNotOffered) {
  Preferences p;
  p.header_digest_crc32c = true;
  p.header_digest_none = false;
  Target target(p);
  EXPECT_EQ(value_in(text_in(target.take(1, 3, names())), "HeaderDigest"), "CRC32C");
  EXPECT_EQ(target.take(1, 3, "HeaderDigest=CRC32C|").outcome, Outcome::authorize);
  EXPECT_EQ(target.login.parameters().header_digest, iscsi::Digest::crc32c);
}

// --- discovery (SPDK 958: every key of normal sessions is Irrelevant) ---

TEST(TargetKeys, InDiscoveryKeysOfNormalSessionsAreIrrelevant) {
  for (const iscsi::KeySpec& spec : iscsi::key_table()) {
    const bool irrelevant = has(spec.irrelevant, iscsi::Irrelevant::discovery) ||
                            has(spec.irrelevant, iscsi::Irrelevant::without_rdma);
    if (spec.rule == iscsi::Rule::declared || !irrelevant) continue;
    Target target(rdma());
    const LoginStep step = target.granted(
        target.take(1, 3,
                    std::string("InitiatorName=") + kInitiatorName + "|SessionType=Discovery|" +
                        std::string(spec.name) + "=" + std::string(spec.fallback) + "|"));
    EXPECT_EQ(value_in(text_in(step), std::string(spec.name)), "Irrelevant");
    EXPECT_EQ(step.outcome, Outcome::succeeded) << spec.name << step.detail;
  }
}

TEST(TargetKeys, InDiscoveryTheWholeListIsAnswered) {
  Target target(rdma());
  const std::string text = text_in(target.granted(target.take(
      1, 3,
      std::string("InitiatorName=") + kInitiatorName +
          "|SessionType=Discovery|HeaderDigest=None|DataDigest=None|MaxConnections=1|InitialR2T=No|"
          "ImmediateData=Yes|MaxRecvDataSegmentLength=8192|MaxBurstLength=512|"
          "FirstBurstLength=512|DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=1|"
          "DataPDUInOrder=Yes|DataSequenceInOrder=Yes|ErrorRecoveryLevel=0|TaskReporting=RFC3720|"
          "iSCSIProtocolLevel=1|OFMarker=No|IFMarker=No|RDMAExtensions=Yes|")));
  EXPECT_EQ(text,
            "HeaderDigest=None|DataDigest=None|MaxConnections=Irrelevant|InitialR2T=Irrelevant|"
            "ImmediateData=Irrelevant|MaxBurstLength=Irrelevant|FirstBurstLength=Irrelevant|"
            "DefaultTime2Wait=2|DefaultTime2Retain=0|MaxOutstandingR2T=Irrelevant|"
            "DataPDUInOrder=Irrelevant|DataSequenceInOrder=Irrelevant|ErrorRecoveryLevel=0|"
            "TaskReporting=Irrelevant|iSCSIProtocolLevel=Irrelevant|OFMarker=No|IFMarker=No|"
            "RDMAExtensions=Irrelevant|MaxRecvDataSegmentLength=262144|");
}

// --- RDMA (RFC 7145 section 6) ---

TEST(TargetRdma, KeysTakeEffectWhateverTheirOrder) {
  const std::string rdma_first =
      "RDMAExtensions=Yes|InitiatorRecvDataSegmentLength=4096|TargetRecvDataSegmentLength=2048|";
  const std::string rdma_last =
      "InitiatorRecvDataSegmentLength=4096|TargetRecvDataSegmentLength=2048|RDMAExtensions=Yes|";
  const Lines expected{{"rdma_extensions", "1"},
                       {"max_send_data_segment_length", "4096"},
                       {"max_recv_data_segment_length", "2048"}};
  EXPECT_EQ(result_of(rdma_first, rdma()), expected);
  EXPECT_EQ(result_of(rdma_last, rdma()), expected);
}

TEST(TargetRdma, LengthsAreTheSmallerWish) {
  Preferences p = rdma();
  p.target_recv_data_segment_length = 1024;
  p.initiator_recv_data_segment_length = 65536;
  const Lines result = result_of(
      "RDMAExtensions=Yes|TargetRecvDataSegmentLength=16777215|"
      "InitiatorRecvDataSegmentLength=16777215|",
      p);
  EXPECT_EQ(result.at("max_recv_data_segment_length"), "1024");
  EXPECT_EQ(result.at("max_send_data_segment_length"), "65536");
}

TEST(TargetRdma, LengthsThatWereNotNegotiatedAreTheDefaults) {
  const Lines result = result_of("RDMAExtensions=Yes|MaxRecvDataSegmentLength=512|", rdma());
  EXPECT_EQ(result, (Lines{{"rdma_extensions", "1"}, {"max_recv_data_segment_length", "8192"}}));
}

TEST(TargetRdma, ASmallerLengthThanTheDefaultIsOffered) {
  Preferences p = rdma();
  p.target_recv_data_segment_length = 1024;
  Target target(p);
  const LoginStep step = target.take(1, 3, names("RDMAExtensions=Yes|"));
  EXPECT_EQ(value_in(text_in(step), "TargetRecvDataSegmentLength"), "1024");
  EXPECT_EQ(target.take(1, 3, "TargetRecvDataSegmentLength=1024|").outcome, Outcome::authorize);
  EXPECT_EQ(target.login.parameters().max_recv_data_segment_length, 1024U);
}

TEST(TargetRdma, NoMaxRecvDataSegmentLengthIsDeclared) {
  Target target(rdma());
  EXPECT_EQ(
      value_in(text_in(target.one_request("RDMAExtensions=Yes|")), "MaxRecvDataSegmentLength"),
      "-");
}

TEST(TargetRdma, DigestsAreForcedToNone) {
  Preferences p = rdma();
  p.header_digest_crc32c = p.data_digest_crc32c = true;
  p.header_digest_none = p.data_digest_none = false;
  Target target(p);
  const std::string text = text_in(target.one_request(
      "HeaderDigest=CRC32C,None|DataDigest=CRC32C|RDMAExtensions=Yes|OFMarker=Yes|"));
  EXPECT_EQ(value_in(text, "HeaderDigest"), "None");
  EXPECT_EQ(value_in(text, "DataDigest"), "Irrelevant") << "None was not proposed";
  EXPECT_EQ(value_in(text, "OFMarker"), "No");
  EXPECT_EQ(target.login.parameters().header_digest, iscsi::Digest::none);
  EXPECT_EQ(target.login.parameters().data_digest, iscsi::Digest::none);
}

TEST(TargetRdma, DeclarationsAreTakenAndNotAnswered) {
  Target target(rdma());
  const std::string text = text_in(
      target.one_request("RDMAExtensions=Yes|MaxOutstandingUnexpectedPDUs=16|MaxAHSLength=512|"
                         "TaggedBufferForSolicitedDataOnly=Yes|iSERHelloRequired=Yes|"));
  EXPECT_EQ(text, "RDMAExtensions=Yes|TargetPortalGroupTag=1|");
  const auto& p = target.login.parameters();
  EXPECT_EQ(p.peer_max_outstanding_unexpected_pdus, 16U);
  EXPECT_EQ(p.peer_max_ahs_length, 512U);
  EXPECT_TRUE(p.tagged_buffer_for_solicited_data_only);
  EXPECT_EQ(p.iser_hello_required, iscsi::Parameters::HelloRequired::yes);
}

TEST(TargetRdma, HelloRequiredNoIsNotTheSameAsSilence) {
  EXPECT_EQ(result_of("RDMAExtensions=Yes|iSERHelloRequired=No|", rdma()).at("iser_hello_required"),
            "1");
  EXPECT_EQ(result_of("RDMAExtensions=Yes|", rdma()).count("iser_hello_required"), 0U);
}

TEST(TargetRdma, AnyKeyOfRfc7145TellsItsSpeaker) {
  const auto knows = [](const std::string& keys) {
    Target target(rdma());
    target.one_request("RDMAExtensions=Yes|" + keys);
    return target.login.parameters().peer_knows_rfc7145;
  };
  EXPECT_FALSE(knows(""));
  EXPECT_FALSE(knows("MaxOutstandingUnexpectedPDUs=16|"));
  EXPECT_TRUE(knows("MaxAHSLength=256|"));
  EXPECT_TRUE(knows("TaggedBufferForSolicitedDataOnly=No|"));
  EXPECT_TRUE(knows("iSERHelloRequired=No|"));
}

TEST(TargetRdma, ANodeOfRfc5046DoesNotKnowTheNewerKeys) {
  Preferences p = rdma();
  p.rfc7145 = false;
  Target target(p);
  const std::string text = text_in(
      target.one_request("RDMAExtensions=Yes|MaxOutstandingUnexpectedPDUs=16|MaxAHSLength=512|"
                         "TaggedBufferForSolicitedDataOnly=Yes|iSERHelloRequired=Yes|"));
  EXPECT_EQ(text,
            "RDMAExtensions=Yes|MaxAHSLength=NotUnderstood|"
            "TaggedBufferForSolicitedDataOnly=NotUnderstood|iSERHelloRequired=NotUnderstood|"
            "TargetPortalGroupTag=1|");
  EXPECT_EQ(target.login.parameters().iser_hello_required,
            iscsi::Parameters::HelloRequired::not_negotiated);
}

TEST(TargetRdma, DeclaresItsLimitsOnAByteStream) {
  Preferences p = rdma();
  p.max_outstanding_unexpected_pdus = 40;
  p.max_ahs_length = 1024;
  Target target(p);
  const std::string text = text_in(target.one_request("RDMAExtensions=Yes|"));
  EXPECT_EQ(value_in(text, "MaxOutstandingUnexpectedPDUs"), "40");
  EXPECT_EQ(value_in(text, "MaxAHSLength"), "1024");
  EXPECT_EQ(target.login.parameters().own_max_outstanding_unexpected_pdus, 40U);
}

TEST(TargetRdma, KeepsLimitsFromInitiatorsOverRdmaThatNameNone) {
  Preferences p = rdma();
  p.max_outstanding_unexpected_pdus = 40;
  Target silent(p, true), speaking(p, true);
  EXPECT_EQ(
      value_in(text_in(silent.one_request("RDMAExtensions=Yes|")), "MaxOutstandingUnexpectedPDUs"),
      "-");
  EXPECT_EQ(
      value_in(text_in(speaking.one_request("RDMAExtensions=Yes|MaxOutstandingUnexpectedPDUs=8|")),
               "MaxOutstandingUnexpectedPDUs"),
      "40");
}

TEST(TargetRdma, ALateOfferIsAnError) {
  Target target(rdma());
  target.take(1, {}, names("InitialR2T=No|"));
  const LoginStep step = target.take(1, 3, "RDMAExtensions=Yes|");
  EXPECT_EQ(step.error, errc::protocol_error);
  EXPECT_EQ(status_of(response_in(step)), 0x0200);
}

TEST(TargetRdma, AnOfferInTheFirstRequestAfterSecurityIsInTime) {
  Target target(rdma());
  target.take(0, 1, names("AuthMethod=None|"));
  EXPECT_EQ(target.take(1, 3, "RDMAExtensions=Yes|").outcome, Outcome::authorize);
  EXPECT_TRUE(target.login.parameters().rdma_extensions);
}

TEST(TargetRdma, AnOfferInTheSecondPieceOfTheFirstTextIsInTime) {
  Target target(rdma());
  target.take(1, {}, names("RDMAExt"), true);
  EXPECT_EQ(target.take(1, 3, "ensions=Yes|").outcome, Outcome::authorize);
  EXPECT_TRUE(target.login.parameters().rdma_extensions);
}

TEST(TargetRdma, OnlyALeadingConnectionMayNegotiateIt) {
  Target target(rdma());
  target.requests.header.tsih = 5;
  EXPECT_EQ(target.one_request("RDMAExtensions=Yes|").error, errc::protocol_error);
}

TEST(TargetRdma, WithoutAgreementAConnectionInRdmaModeEnds) {
  for (const char* text : {"", "RDMAExtensions=No|"}) {
    Target target(rdma(), true);
    const LoginStep step = target.one_request(text);
    EXPECT_EQ(step.error, errc::negotiation_failed) << text;
    EXPECT_EQ(status_of(response_in(step)), 0x0200) << text;
    EXPECT_NE(step.detail.find("RDMAExtensions"), std::string::npos) << step.detail;
  }
}

TEST(TargetRdma, ATargetThatMayNotUseItEndsAConnectionInRdmaMode) {
  Target target({}, true);
  EXPECT_EQ(target.one_request("RDMAExtensions=Yes|").error, errc::negotiation_failed);
}

TEST(TargetRdma, DiscoveryOnAConnectionInRdmaModeMayAskForRdma) {
  Target target(rdma(), true);
  const LoginStep step =
      target.granted(target.take(1, 3,
                                 std::string("InitiatorName=") + kInitiatorName +
                                     "|SessionType=Discovery|InitiatorRecvDataSegmentLength=8192|"
                                     "TargetRecvDataSegmentLength=8192|RDMAExtensions=Yes|"));
  EXPECT_EQ(step.outcome, Outcome::succeeded) << step.detail;
  EXPECT_EQ(value_in(text_in(step), "RDMAExtensions"), "Yes");
}

// An initiator that goes by RFC 7145 section 6.3 does not negotiate the key in discovery.
TEST(TargetRdma, DiscoveryOnAConnectionInRdmaModeNeedsNoKey) {
  for (const char* keys : {"", "RDMAExtensions=No|"}) {
    SCOPED_TRACE(keys);
    const std::string text =
        std::string("InitiatorName=") + kInitiatorName + "|SessionType=Discovery|" + keys;
    Target target(rdma(), true);
    const LoginStep step = target.granted(target.take(1, 3, text));
    EXPECT_EQ(step.outcome, Outcome::succeeded) << step.detail;
    EXPECT_TRUE(target.login.parameters().rdma_extensions);
    Target plain({}, true);
    EXPECT_EQ(plain.take(1, 3, text).error, errc::negotiation_failed);
  }
}

}  // namespace
}  // namespace openiser::test
