// Patterns of names, networks, and which rule of a list holds.
#include "target/access.h"

#include <gtest/gtest.h>

#include "config/values.h"

namespace openiser::target {
namespace {

config::Network network(const std::string& text) {
  const auto parsed = config::parse_network(text);
  EXPECT_TRUE(parsed.value) << parsed.fault;
  config::Network made;
  if (!parsed.value) return made;
  std::copy(parsed.value->text.begin(), parsed.value->text.end(), made.address.begin());
  made.prefix = static_cast<std::uint8_t>(parsed.value->number);
  return made;
}

TEST(Pattern, FitsOrDoesNot) {
  struct Case {
    const char* pattern;
    const char* name;
    bool fits;
  };
  for (const auto& [pattern, name, fits] : {
           Case{"", "", true},
           Case{"", "a", false},
           Case{"a", "", false},
           Case{"iqn.x:a", "iqn.x:a", true},
           Case{"iqn.x:a", "iqn.x:ab", false},
           Case{"iqn.x:ab", "iqn.x:a", false},
           Case{"*", "", true},
           Case{"*", "anything", true},
           Case{"**", "anything", true},
           Case{"iqn.x:*", "iqn.x:", true},
           Case{"iqn.x:*", "iqn.x:host", true},
           Case{"iqn.x:*", "iqn.y:host", false},
           Case{"*:host", "iqn.x:host", true},
           Case{"*:host", "iqn.x:host:host", true},
           Case{"*:host", "iqn.x:host2", false},
           Case{"iqn.x:*-?", "iqn.x:lab-7", true},
           Case{"iqn.x:*-?", "iqn.x:lab-", false},
           Case{"iqn.x:*-?", "iqn.x:a-b-c", true},
           Case{"?", "", false},
           Case{"???", "abc", true},
           Case{"a*b*c", "aXbYbZc", true},
           Case{"a*b*c", "aXbYbZ", false},
           Case{"a.b", "axb", false},
       }) {
    EXPECT_EQ(matches(pattern, name), fits) << pattern << " " << name;
  }
}

// Not more than the two lengths multiplied: a name chosen by a stranger costs little.
TEST(Pattern, ManyStarsAreNoTrouble) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(223, 'a')));
  EXPECT_TRUE(matches(pattern, std::string(223, 'a')));
}

TEST(AddressBytes, AsSocketsTellThem) {
  EXPECT_EQ(address_bytes("192.0.2.7:3260"),
            (AddressBytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7}));
  EXPECT_EQ(address_bytes("[::ffff:192.0.2.7]:3260"), address_bytes("192.0.2.7:1"));
  EXPECT_EQ(address_bytes("[2001:db8::1]:1"),
            (AddressBytes{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(address_bytes("[fe80::1%eth0]:1"),
            (AddressBytes{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  for (const char* none : {"", ":", "host:3260", "[", "[]:1", "[::1", "1.2.3:1", "1.2.3.4.5:1"}) {
    if (std::string_view(none) == "[::1") continue;  // has no port, but can be read
    EXPECT_FALSE(address_bytes(none)) << none;
  }
}

TEST(Network, ContainsItsAddressesAlone) {
  struct Case {
    const char* network;
    const char* address;
    bool inside;
  };
  for (const auto& [name, address, inside] : {
           Case{"192.0.2.0/24", "192.0.2.255:1", true},
           Case{"192.0.2.0/24", "192.0.3.0:1", false},
           Case{"192.0.2.0/24", "[::ffff:192.0.2.1]:1", true},
           Case{"192.0.2.128/25", "192.0.2.127:1", false},
           Case{"192.0.2.128/25", "192.0.2.128:1", true},
           Case{"192.0.2.7", "192.0.2.7:1", true},
           Case{"192.0.2.7", "192.0.2.6:1", false},
           Case{"0.0.0.0/0", "203.0.113.9:1", true},
           Case{"0.0.0.0/0", "[2001:db8::1]:1", false},
           Case{"::/0", "[2001:db8::1]:1", true},
           Case{"2001:db8::/32", "[2001:db8:ffff::1]:1", true},
           Case{"2001:db8::/32", "[2001:db9::1]:1", false},
           Case{"2001:db8::/33", "[2001:db8:8000::1]:1", false},
           Case{"::1", "[::1]:1", true},
           Case{"::1", "[::2]:1", false},
       }) {
    EXPECT_EQ(contains(network(name), *address_bytes(address)), inside) << name << " " << address;
  }
}

TEST(Loopback, IsTold) {
  for (const char* address : {"127.0.0.1:1", "127.255.0.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"})
    EXPECT_TRUE(is_loopback(*address_bytes(address))) << address;
  for (const char* address : {"128.0.0.1:1", "126.0.0.1:1", "[::2]:1", "[::]:1"})
    EXPECT_FALSE(is_loopback(*address_bytes(address))) << address;
}

Access access(std::vector<std::string> names, std::vector<config::Network> networks = {}) {
  Access made;
  for (std::string& name : names) made.initiators.push_back({std::move(name)});
  made.networks = std::move(networks);
  return made;
}

TEST(AccessList, LeftOutIsOpen) {
  EXPECT_TRUE(access({}).allows("iqn.x:any", "203.0.113.9:1"));
  EXPECT_EQ(access({}).find("iqn.x:any"), nullptr);
}

TEST(AccessList, NamesAndNetworksBothHaveToAllow) {
  const Access both = access({"iqn.x:a", "iqn.x:lab-*"}, {network("192.0.2.0/24"), network("::1")});
  EXPECT_TRUE(both.allows("iqn.x:a", "192.0.2.1:1"));
  EXPECT_TRUE(both.allows("iqn.x:lab-3", "[::1]:1"));
  EXPECT_FALSE(both.allows("iqn.x:b", "192.0.2.1:1"));
  EXPECT_FALSE(both.allows("iqn.x:a", "192.0.3.1:1"));
  EXPECT_FALSE(both.allows("", "192.0.2.1:1"));
  EXPECT_FALSE(both.allows("iqn.x:a", "no address"));
}

TEST(AccessList, ExactNamesGoBeforePatternsAndThoseInOrder) {
  const Access list = access({"iqn.x:*", "iqn.x:a*", "iqn.x:abc"});
  EXPECT_EQ(list.find("iqn.x:abc"), &list.initiators[2]);
  EXPECT_EQ(list.find("iqn.x:abd"), &list.initiators[0]);
  EXPECT_EQ(list.find("iqn.y:abc"), nullptr);
}

}  // namespace
}  // namespace openiser::target
