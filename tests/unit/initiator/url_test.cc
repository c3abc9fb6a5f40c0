#include "initiator/url.h"

#include <gtest/gtest.h>

namespace openiser::initiator {
namespace {

TEST(Url, TakesAWholeOne) {
  const Url url = parse_url(
      "iser://storage.example:3261/iqn.2026-11.org.example:disk1/"
      "7?wire=stream-first&crc=no&markers=yes");
  EXPECT_TRUE(url.iser);
  EXPECT_EQ(url.host, "storage.example");
  EXPECT_EQ(url.port, 3261);
  EXPECT_EQ(url.target, "iqn.2026-11.org.example:disk1");
  EXPECT_EQ(url.lun, 7);
  EXPECT_EQ(url.wire, Wire::stream_first);
  EXPECT_FALSE(url.crc);
  EXPECT_TRUE(url.markers);
}

TEST(Url, FillsInHostAndPort) {
  const Url url = parse_url("iser:///iqn.x:y/0");
  EXPECT_EQ(url.host, "127.0.0.1");
  EXPECT_EQ(url.port, 3260);
  EXPECT_EQ(url.wire, Wire::automatic);
  EXPECT_EQ(parse_url("iser://:99/iqn.x:y/0").host, "127.0.0.1");
  EXPECT_EQ(parse_url("iser://:99/iqn.x:y/0").port, 99);
}

TEST(Url, MayNameNoLun) {
  EXPECT_FALSE(parse_url("iser://h/iqn.x:y").lun);
  EXPECT_FALSE(parse_url("iser://h/iqn.x:y/").lun);
}

TEST(Url, TakesIpv6InBrackets) {
  const Url url = parse_url("iscsi://[fe80::1]:860/iqn.x:y/1");
  EXPECT_EQ(url.host, "fe80::1");
  EXPECT_EQ(url.port, 860);
  EXPECT_EQ(parse_url("iser://[::1]/iqn.x:y/1").port, 3260);
}

TEST(Url, PlainIsPlain) {
  const Url url = parse_url("iscsi://h/iqn.x:y/0?header-digest=crc32c&data-digest=crc32c");
  EXPECT_EQ(url.wire, Wire::plain);
  EXPECT_TRUE(url.header_digest);
  EXPECT_TRUE(url.data_digest);
}

TEST(Url, Rfc5046MeansStreamFirst) {
  EXPECT_EQ(parse_url("iser://h/iqn.x:y/0?rfc=5046").wire, Wire::stream_first);
  EXPECT_THROW(parse_url("iser://h/iqn.x:y/0?rfc=5046&wire=rdma-first"), UsageError);
}

TEST(Url, VerbsIsAWireOfItsOwn) {
  EXPECT_EQ(parse_url("iser://h/iqn.x:y/0?wire=verbs").wire, Wire::verbs);
  EXPECT_EQ(parse_url("iser://h/iqn.x:y/0?wire=verbs&crc=yes&markers=no").wire, Wire::verbs);
}

TEST(Url, SaysItselfAgain) {
  for (const char* text :
       {"iser://h:3260/iqn.x:y/0", "iscsi://[::1]:1/iqn.x:y/3?data-digest=crc32c",
        "iser://h:3260/eui.02004567A425678D/"
        "0?wire=stream-first&rfc=5046&crc=no&markers=yes&user=u",
        "iser://h:3260/iqn.x:y/0?wire=verbs"}) {
    EXPECT_EQ(parse_url(text).text(), text);
  }
}

struct Wrong {
  const char* url;
  const char* word;  // what the message must name
};
class WrongUrl : public testing::TestWithParam<Wrong> {};

TEST_P(WrongUrl, IsRefusedInOneLineThatNamesTheFault) {
  try {
    parse_url(GetParam().url);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(GetParam().word), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongUrl,
    testing::Values(Wrong{"http://h/iqn.x:y/0", "iser://"}, Wrong{"iser://h:x/iqn.x:y/0", "port"},
                    Wrong{"iser://h:65536/iqn.x:y/0", "port"}, Wrong{"iser://h/disk/0", "disk"},
                    Wrong{"iser://h/iqn.x:y/-1", "LUN"}, Wrong{"iser://h/iqn.x:y/16384", "LUN"},
                    Wrong{"iser://h/iqn.x:y/1x", "LUN"},
                    Wrong{"iser://h/iqn.x:y/0?wire=fast", "wire"},
                    Wrong{"iser://h/iqn.x:y/0?colour=red", "colour"},
                    Wrong{"iser://h/iqn.x:y/0?crc", "key=value"},
                    Wrong{"iser://h/iqn.x:y/0?crc=maybe", "maybe"},
                    Wrong{"iser://h/iqn.x:y/0?rfc=3720", "3720"},
                    Wrong{"iser://h/iqn.x:y/0?rfc=5046&wire=verbs", "no verbs wire"},
                    Wrong{"iser://h/iqn.x:y/0?wire=verbs&crc=no", "the device"},
                    Wrong{"iser://h/iqn.x:y/0?wire=verbs&markers=yes", "the device"},
                    Wrong{"iscsi://h/iqn.x:y/0?wire=verbs", "iser://"},
                    Wrong{"iser://h/iqn.x:y/0?data-digest=crc32c", "iscsi://"},
                    Wrong{"iscsi://h/iqn.x:y/0?markers=yes", "iser://"},
                    Wrong{"iser://u:secret@h/iqn.x:y/0", "user"},
                    Wrong{"iser://fe80::1/iqn.x:y/0", "brackets"},
                    Wrong{"iser://[fe80::1/iqn.x:y/0", "]"}));

TEST(Portal, TakesHostAndPortOrAUrl) {
  EXPECT_EQ(parse_portal("h").port, 3260);
  EXPECT_EQ(parse_portal("h:1").port, 1);
  EXPECT_EQ(parse_portal("[::1]:2").host, "::1");
  EXPECT_EQ(parse_portal("iser://h:3").port, 3);
  EXPECT_THROW(parse_portal("h/iqn.x:y"), UsageError);
}

}  // namespace
}  // namespace openiser::initiator
