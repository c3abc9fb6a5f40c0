#include "config/values.h"

#include <gtest/gtest.h>

namespace openiser::config {
namespace {

std::uint64_t number(const Parsed& parsed) {
  EXPECT_TRUE(parsed.value) << parsed.fault;
  return parsed.value ? parsed.value->number : 0xdead;
}
// The fault has two halves: what, and what to do.
void expect_fault(const Parsed& parsed, std::string_view text) {
  EXPECT_FALSE(parsed.value) << text;
  EXPECT_NE(parsed.fault.find("; "), std::string::npos) << text << ": " << parsed.fault;
}

TEST(Processors, NumbersAndRanges) {
  using List = std::vector<unsigned>;
  EXPECT_EQ(processors_of("0"), List{0});
  EXPECT_EQ(processors_of("0-2,7,1023"), (List{0, 1, 2, 7, 1023}));
  for (const char* text : {"", ",", "1,", "-1", "1-", "2-1", "1024", "0-99999999999", "1 2", "x"}) {
    EXPECT_TRUE(processors_of(text).empty()) << text;
    EXPECT_NE(parse_processors(text).fault.find("0-3,6"), std::string::npos) << text;
  }
  EXPECT_EQ(parse_processors("0-2").value->text, "0-2");
}

TEST(Size, UnitsArePowersOf1024) {
  EXPECT_EQ(number(parse_size("0")), 0U);
  EXPECT_EQ(number(parse_size("4096")), 4096U);
  EXPECT_EQ(number(parse_size("512B")), 512U);
  EXPECT_EQ(number(parse_size("4k")), 4096U);
  EXPECT_EQ(number(parse_size("4K")), 4096U);
  EXPECT_EQ(number(parse_size("4KiB")), 4096U);
  EXPECT_EQ(number(parse_size("10M")), 10485760U);
  EXPECT_EQ(number(parse_size("10 MiB")), 10485760U);
  EXPECT_EQ(number(parse_size("1GiB")), 1073741824U);
  EXPECT_EQ(number(parse_size("2T")), 2199023255552U);
  EXPECT_EQ(number(parse_size("0x1000")), 4096U);
  EXPECT_EQ(number(parse_size("18446744073709551615")), UINT64_MAX);
}

TEST(Size, WhatIsNoneIsAFault) {
  for (const char* text : {"", "k", "-1", "+1", "1.5G", "10MB", "1GB", "4kk", "4 k k", "1e3", "0x",
                           "18446744073709551616", "16777216T", "four"})
    expect_fault(parse_size(text), text);
}

TEST(Duration, IsInWholeSeconds) {
  EXPECT_EQ(number(parse_duration("15")), 15U);
  EXPECT_EQ(number(parse_duration("15s")), 15U);
  EXPECT_EQ(number(parse_duration("2m")), 120U);
  EXPECT_EQ(number(parse_duration("2min")), 120U);
  EXPECT_EQ(number(parse_duration("1h")), 3600U);
  for (const char* text : {"", "s", "500ms", "1d", "-1s", "1.5s"})
    expect_fault(parse_duration(text), text);
}

TEST(Boolean, HasThreeWaysToSayIt) {
  for (const char* text : {"true", "yes", "on"}) EXPECT_EQ(number(parse_boolean(text)), 1U);
  for (const char* text : {"false", "no", "off"}) EXPECT_EQ(number(parse_boolean(text)), 0U);
  for (const char* text : {"", "1", "0", "True", "maybe"}) expect_fault(parse_boolean(text), text);
}

TEST(Count, IsAWholeNumber) {
  EXPECT_EQ(number(parse_count("0")), 0U);
  EXPECT_EQ(number(parse_count("0x10")), 16U);
  for (const char* text : {"", "-1", "1k", "1.0", "1 2", "x"})
    expect_fault(parse_count(text), text);
}

struct PortalRow {
  const char* text;
  const char* host;
  unsigned port;
};
TEST(PortalAddress, HasManyForms) {
  const PortalRow rows[] = {{"127.0.0.1:3261", "127.0.0.1", 3261},
                            {"127.0.0.1", "127.0.0.1", 3260},
                            {"storage.example", "storage.example", 3260},
                            {"storage-1.example:860", "storage-1.example", 860},
                            {":3260", "", 3260},
                            {":0", "", 0},
                            {"[::1]:3261", "::1", 3261},
                            {"[fe80::1%eth0]:1", "fe80::1%eth0", 1},
                            {"[::1]", "::1", 3260},
                            {"h:65535", "h", 65535}};
  for (const auto& [text, host, port] : rows) {
    const Parsed parsed = parse_portal(text);
    EXPECT_EQ(number(parsed), port) << text;
    EXPECT_EQ(parsed.value->text, host) << text;
  }
}

TEST(PortalAddress, WhatIsNoneIsAFault) {
  for (const char* text :
       {"", "3260", "::1", "fe80::1:3260", "[::1", "[::1]3260", "[::1]:", "[127.0.0.1]:1",
        "h:", "h:65536", "h:x", "h:1x", "a b", "a/b:1", ":-1", "a]:1", "a,b"})
    expect_fault(parse_portal(text), text);
}

TEST(PortalAddress, AnAddressWithoutBracketsIsToldAboutThem) {
  EXPECT_NE(parse_portal("::1").fault.find("[::1]:3260"), std::string::npos);
  EXPECT_NE(parse_portal("3260").fault.find(":3260"), std::string::npos);
}

TEST(IscsiName, HasThreeForms) {
  for (const char* name :
       {"iqn.2001-04.com.example", "iqn.2001-04.com.example:storage:disk-1.a",
        "iqn.2026-12.a:", "eui.02004567A425678D", "naa.52004567ba64678d",
        "naa.62004567BA64678D0123456789ABCDEF", "iqn.2001-04.com.example:\xc3\xa4"})
    EXPECT_TRUE(parse_iscsi_name(name).value) << name;
}

TEST(IscsiName, WhatIsNoneIsAFault) {
  for (const char* name :
       {"", "disk1", "iqn.", "iqn.2001-04", "iqn.2001-04.", "iqn.2001-13.com", "iqn.2001-00.com",
        "iqn.01-04.com.example", "iqn.2001-04-com", "iqn.2001-04.Com.example",
        "iqn.2001-04.com.example:Disk", "iqn.2001-04.com.example:a b", "iqn.2001-04..com",
        "iqn.2001-04.com.:x", "IQN.2001-04.com.example", "eui.0200", "eui.02004567A425678G",
        "naa.5200", "naa.52004567ba64678d0"})
    expect_fault(parse_iscsi_name(name), name);
  expect_fault(parse_iscsi_name("iqn.2001-04.com:" + std::string(223, 'a')), "long");
}

TEST(PlainText, HasNoControlCharacters) {
  EXPECT_TRUE(parse_plain_text("Bob's disk \xc3\xa4", 255).value);
  EXPECT_TRUE(parse_plain_text("12345678", 8).value);
  expect_fault(parse_plain_text("123456789", 8), "too long");
  expect_fault(parse_plain_text(std::string("a\0b", 3), 255), "NUL");
  expect_fault(parse_plain_text("a\nb", 255), "line feed");
}

}  // namespace
}  // namespace openiser::config
