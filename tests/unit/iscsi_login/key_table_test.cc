// The table against the documents: one row here for each row there, written from the RFCs' text.
#include "iscsi/login/key_table.h"

#include <gtest/gtest.h>

#include <set>

namespace openiser::iscsi {
namespace {

struct Fact {
  const char* name;
  const char* senders;  // "I", "T" or "IT"
  const char* use;      // as the RFC prints it; "Any" for Any-Stage, "D" for Declarative
  const char* scope;
  const char* result;
  const char* fallback;
  std::uint32_t min, max;
  int irrelevant;
};

constexpr int kNever = 0, kDiscovery = 1, kNoRdma = 2, kRdma = 4, kNoUnsolicited = 8;

const Fact kFacts[] = {
    {"SessionType", "I", "LO D Any", "SW", "declared", "Normal", 0, 1, kNever},
    {"InitiatorName", "I", "IO D Any", "SW", "declared", "", 0, 0, kNever},
    {"InitiatorAlias", "I", "ALL D Any", "SW", "declared", "", 0, 0, kNever},
    {"TargetName", "I", "IO D Any", "SW", "declared", "", 0, 0, kNever},
    {"TargetAlias", "T", "ALL D Any", "SW", "declared", "", 0, 0, kNever},
    {"TargetAddress", "T", "ALL D Any", "SW", "declared", "", 0, 0, kNever},
    {"TargetPortalGroupTag", "T", "IO D Any", "SW", "declared", "0", 0, 65535, kNever},
    {"SendTargets", "I", "FFPO D None", "SW", "declared", "", 0, 0, kNever},
    {"AuthMethod", "IT", "IO Security", "CO", "list", "None", 0, 1, kNever},
    {"CHAP_A", "IT", "IO Security", "CO", "exchange", "", 0, 0, kNever},
    {"CHAP_I", "IT", "IO Security", "CO", "exchange", "", 0, 255, kNever},
    {"CHAP_C", "IT", "IO Security", "CO", "exchange", "", 0, 0, kNever},
    {"CHAP_N", "IT", "IO Security", "CO", "exchange", "", 0, 0, kNever},
    {"CHAP_R", "IT", "IO Security", "CO", "exchange", "", 0, 0, kNever},
    {"RDMAExtensions", "IT", "LO", "SW", "AND", "No", 0, 1, kDiscovery},
    {"HeaderDigest", "IT", "IO", "CO", "list", "None", 0, 1, kRdma},
    {"DataDigest", "IT", "IO", "CO", "list", "None", 0, 1, kRdma},
    {"OFMarker", "IT", "IO", "CO", "refused", "No", 0, 1, kRdma},
    {"IFMarker", "IT", "IO", "CO", "refused", "No", 0, 1, kRdma},
    {"OFMarkInt", "IT", "IO", "CO", "refused", "Reject", 0, 0, kNever},
    {"IFMarkInt", "IT", "IO", "CO", "refused", "Reject", 0, 0, kNever},
    {"MaxConnections", "IT", "LO", "SW", "Minimum", "1", 1, 65535, kDiscovery},
    {"InitialR2T", "IT", "LO", "SW", "OR", "Yes", 0, 1, kDiscovery},
    {"ImmediateData", "IT", "LO", "SW", "AND", "Yes", 0, 1, kDiscovery},
    {"MaxRecvDataSegmentLength", "IT", "ALL D", "CO", "declared", "8192", 512, 16777215, kNever},
    {"MaxBurstLength", "IT", "LO", "SW", "Minimum", "262144", 512, 16777215, kDiscovery},
    {"FirstBurstLength", "IT", "LO", "SW", "Minimum", "65536", 512, 16777215,
     kDiscovery | kNoUnsolicited},
    {"DefaultTime2Wait", "IT", "LO", "SW", "Maximum", "2", 0, 3600, kNever},
    {"DefaultTime2Retain", "IT", "LO", "SW", "Minimum", "20", 0, 3600, kNever},
    {"MaxOutstandingR2T", "IT", "LO", "SW", "Minimum", "1", 1, 65535, kDiscovery},
    {"DataPDUInOrder", "IT", "LO", "SW", "OR", "Yes", 0, 1, kDiscovery},
    {"DataSequenceInOrder", "IT", "LO", "SW", "OR", "Yes", 0, 1, kDiscovery},
    {"ErrorRecoveryLevel", "IT", "LO", "SW", "Minimum", "0", 0, 2, kNever},
    {"TaskReporting", "IT", "LO", "SW", "list", "RFC3720", 0, 1, kDiscovery},
    {"iSCSIProtocolLevel", "IT", "LO", "SW", "Minimum", "1", 0, 31, kDiscovery},
    {"X#NodeArchitecture", "IT", "LO D", "SW", "declared", "", 0, 0, kNever},
    {"TargetRecvDataSegmentLength", "IT", "IO", "CO", "Minimum", "8192", 512, 16777215, kNoRdma},
    {"InitiatorRecvDataSegmentLength", "IT", "IO", "CO", "Minimum", "8192", 512, 16777215, kNoRdma},
    {"MaxOutstandingUnexpectedPDUs", "IT", "LO D", "SW", "declared", "0", 2, 4294967295, kNoRdma},
    {"MaxAHSLength", "IT", "LO D", "SW", "declared", "256", 2, 4294967295, kNoRdma},
    {"TaggedBufferForSolicitedDataOnly", "I", "LO D", "SW", "declared", "No", 0, 1, kNoRdma},
    {"iSERHelloRequired", "I", "LO D", "SW", "declared", "No", 0, 1, kNoRdma},
};

std::string use_of(const KeySpec& spec) {
  static const char* const kUses[] = {"LO", "IO", "FFPO", "ALL"};
  std::string use = kUses[static_cast<int>(spec.use)];
  if (spec.rule == Rule::declared) use += " D";
  if (spec.stages == Stages::any) use += " Any";
  if (spec.stages == Stages::none) use += " None";
  if (spec.stages == Stages::security) use += " Security";
  return use;
}

class KeyTable : public testing::TestWithParam<Fact> {};

TEST_P(KeyTable, RowSaysWhatTheDocumentSays) {
  static const char* const kSenders[] = {"I", "T", "IT"};
  static const char* const kRules[] = {"declared", "list",    "AND",     "OR",
                                       "Minimum",  "Maximum", "refused", "exchange"};
  const Fact& fact = GetParam();
  const KeySpec* spec = find_key(fact.name);
  ASSERT_NE(spec, nullptr);
  EXPECT_STREQ(kSenders[static_cast<int>(spec->sender)], fact.senders);
  EXPECT_EQ(use_of(*spec), fact.use);
  EXPECT_STREQ(spec->scope == Scope::session ? "SW" : "CO", fact.scope);
  EXPECT_STREQ(kRules[static_cast<int>(spec->rule)], fact.result);
  EXPECT_EQ(spec->fallback, fact.fallback);
  EXPECT_EQ(spec->range.min, fact.min);
  EXPECT_EQ(spec->range.max, fact.max);
  EXPECT_EQ(static_cast<int>(spec->irrelevant), fact.irrelevant);
}

std::string row_name(const testing::TestParamInfo<Fact>& info) {
  std::string name;
  for (const char* c = info.param.name; *c; ++c)
    if (*c != '#') name += *c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rows, KeyTable, testing::ValuesIn(kFacts), row_name);

TEST(KeyTableAsAWhole, HasNoRowBeyondThese) {
  EXPECT_EQ(std::size(kFacts), kKeyCount);
  std::set<std::string_view> names;
  for (const KeySpec& spec : key_table()) EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
}

TEST(KeyTableAsAWhole, DefaultsOfPreferencesAreAdmissible) {
  for (const KeySpec& spec : key_table())
    if (spec.type == Type::number) {
      EXPECT_TRUE(spec.range.contains(wish_of(spec, {}))) << spec.name;
    }
}

TEST(KeyTableAsAWhole, DefaultsAreThoseOfParameters) {
  Parameters parameters;
  const Parameters defaults;
  for (const KeySpec& spec : key_table())
    if (spec.key != Key::iser_hello_required) store(spec.result, parameters, default_of(spec));
  EXPECT_EQ(parameters.max_burst_length, defaults.max_burst_length);
  EXPECT_EQ(parameters.first_burst_length, defaults.first_burst_length);
  EXPECT_EQ(parameters.initial_r2t, defaults.initial_r2t);
  EXPECT_EQ(parameters.immediate_data, defaults.immediate_data);
  EXPECT_EQ(parameters.default_time2retain, defaults.default_time2retain);
  EXPECT_EQ(parameters.default_time2wait, defaults.default_time2wait);
  EXPECT_EQ(parameters.peer_max_ahs_length, defaults.peer_max_ahs_length);
  EXPECT_EQ(parameters.max_send_data_segment_length, defaults.max_send_data_segment_length);
}

// RFC 7145 sections 6.7 and 6.8: 0 or 2 and up.
TEST(Values, OneIsNoCountOfUnexpectedPdus) {
  for (const Key key : {Key::max_outstanding_unexpected_pdus, Key::max_ahs_length}) {
    EXPECT_TRUE(parse_value(spec_of(key), "0"));
    EXPECT_FALSE(parse_value(spec_of(key), "1"));
    EXPECT_TRUE(parse_value(spec_of(key), "2"));
    EXPECT_TRUE(parse_value(spec_of(key), "4294967295"));
    EXPECT_FALSE(parse_value(spec_of(key), "4294967296"));
  }
}

TEST(Values, NumbersAreDecimalOrHexadecimal) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("16777215"), 16777215U);
  EXPECT_EQ(parse_number("0xfF"), 255U);
  EXPECT_EQ(parse_number("0X0010"), 16U);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
}

TEST(Values, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "01", "00", "0x", "0xg", "1.0", "1~2", "1,2",
                           "18446744073709551616", "0x10000000000000000", "Yes", "0b11"})
    EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Values, BooleansAreYesAndNoAsPrinted) {
  const KeySpec& spec = spec_of(Key::initial_r2t);
  EXPECT_EQ(parse_value(spec, "Yes"), 1U);
  EXPECT_EQ(parse_value(spec, "No"), 0U);
  for (const char* text : {"", "yes", "NO", "1", "0", "Yes ", "true"})
    EXPECT_FALSE(parse_value(spec, text)) << text;
}

TEST(Values, NamesAreAtMost223BytesOfTheirAlphabet) {
  EXPECT_TRUE(is_text_of(Type::iscsi_name, "iqn.2001-04.com.example:a.b-c"));
  EXPECT_TRUE(is_text_of(Type::iscsi_name, "eui.02004567A425678D"));
  EXPECT_TRUE(is_text_of(Type::iscsi_name, "iqn.2001-04.com.example:\xc3\xa4"));
  EXPECT_TRUE(is_text_of(Type::iscsi_name, std::string(223, 'a')));
  EXPECT_FALSE(is_text_of(Type::iscsi_name, std::string(224, 'a')));
  for (const char* text : {"", "iqn a", "iqn,a", "iqn/a", "iqn\n"})
    EXPECT_FALSE(is_text_of(Type::iscsi_name, text)) << text;
}

TEST(Values, AWishOutsideOfTheRangeIsBroughtIntoIt) {
  Preferences preferences;
  preferences.max_burst_length = 100;
  EXPECT_EQ(wish_of(spec_of(Key::max_burst_length), preferences), 512U);
  preferences.max_burst_length = 1 << 30;
  EXPECT_EQ(wish_of(spec_of(Key::max_burst_length), preferences), 16777215U);
}

TEST(Values, ListsFollowThePreferences) {
  const KeySpec& spec = spec_of(Key::header_digest);
  Preferences preferences;
  EXPECT_EQ(list_of(spec, preferences), "None");
  preferences.header_digest_crc32c = true;
  EXPECT_EQ(list_of(spec, preferences), "CRC32C,None");
  preferences.header_digest_none = false;
  EXPECT_EQ(list_of(spec, preferences), "CRC32C");
  preferences.header_digest_crc32c = false;
  EXPECT_EQ(list_of(spec, preferences), "None") << "an empty list means None";
}

}  // namespace
}  // namespace openiser::iscsi
