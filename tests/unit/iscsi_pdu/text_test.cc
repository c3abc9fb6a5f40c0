#include "iscsi/pdu/text.h"

#include <gtest/gtest.h>

#include <random>

#include "iscsi/errors.h"
#include "tests/support/bytes.h"

namespace openiser::iscsi {
namespace {

using namespace std::string_view_literals;

Result<std::vector<TextPair>> parse(std::string_view text, std::size_t max = kMaxTextValue) {
  return parse_text(as_bytes(text), max);
}
ErrorCode error_of(std::string_view text, std::size_t max = kMaxTextValue) {
  // On the heap, with not a byte to spare.
  const test::ByteVector exact = test::exact(as_bytes(text));
  const auto pairs = parse_text(exact, max);
  return pairs ? ErrorCode() : pairs.error();
}

TEST(Text, PairsInOrder) {
  const auto pairs = parse("InitiatorName=iqn.x:y\0AuthMethod=CHAP,None\0X-a.b=\0"sv);
  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->size(), 3u);
  EXPECT_EQ((*pairs)[0].key, "InitiatorName");
  EXPECT_EQ((*pairs)[0].value, "iqn.x:y");
  EXPECT_EQ((*pairs)[1].value, "CHAP,None");
  EXPECT_EQ((*pairs)[2].key, "X-a.b");
  EXPECT_EQ((*pairs)[2].value, "");
}

TEST(Text, NothingAndNulsAreAnEmptyList) {
  for (const std::string_view text : {""sv, "\0"sv, "\0\0\0\0\0"sv}) {
    const auto pairs = parse(text);
    ASSERT_TRUE(pairs);
    EXPECT_TRUE(pairs->empty());
  }
}

TEST(Text, LastNulMayBeMissingAndOthersTooMany) {
  const auto pairs = parse("\0a=1\0\0\0b=2"sv);
  ASSERT_TRUE(pairs);
  ASSERT_EQ(pairs->size(), 2u);
  EXPECT_EQ((*pairs)[1].value, "2");
}

TEST(Text, ValueMayHaveEqualsSigns) {
  const auto pairs = parse("k=a=b=\0"sv);
  ASSERT_TRUE(pairs);
  EXPECT_EQ((*pairs)[0].value, "a=b=");
}

TEST(Text, DuplicatesAreReported) {
  const auto pairs = parse("k=1\0k=2\0"sv);
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->size(), 2u);
}

TEST(Text, KeyNames) {
  const std::string name63(63, 'k');
  const std::string name64(64, 'k');
  EXPECT_EQ(error_of(name63 + "=v"), ErrorCode());
  EXPECT_EQ(error_of(name64 + "=v"), errc::bad_key_name);
  EXPECT_EQ(error_of("=v"), errc::bad_key_name);
  EXPECT_EQ(error_of("a b=v"), errc::bad_key_name);
  EXPECT_EQ(error_of("a/b=v"), errc::bad_key_name);
  EXPECT_EQ(error_of("X#NodeArchitecture=v"), ErrorCode());
  EXPECT_EQ(error_of("k\xc3\xa4=v"), errc::bad_key_name);
  EXPECT_EQ(error_of("X-.+@_09azAZ=v"), ErrorCode());
}

TEST(Text, NoEqualsSignIsNoPair) {
  EXPECT_EQ(error_of("a=1\0nothing\0"sv), errc::bad_text);
}

TEST(Text, ValuesAreBounded) {
  EXPECT_EQ(error_of("k=" + std::string(255, 'v')), ErrorCode());
  EXPECT_EQ(error_of("k=" + std::string(256, 'v')), errc::text_too_long);
  EXPECT_EQ(error_of("k=" + std::string(4096, 'v'), 4096), ErrorCode());
}

TEST(Text, PairsAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < kMaxTextPairs; ++i) text += "a=b\0"sv;
  EXPECT_EQ(error_of(text), ErrorCode());
  EXPECT_EQ(error_of(text + "a=b"), errc::text_too_long);
}

// CVE-2013-2850: names of every length.
TEST(Text, NamesOfEveryLength) {
  for (std::size_t n = 1; n <= 8191; n += n < 100 ? 1 : 97)
    EXPECT_EQ(error_of(std::string(n, 'k') + "=v"),
              n <= 63 ? ErrorCode() : ErrorCode(errc::bad_key_name));
}

TEST(Text, WriterMakesWhatTheParserReads) {
  TextWriter writer;
  EXPECT_TRUE(writer.empty());
  writer.add("TargetName", "iqn.a:b");
  writer.add("MaxBurstLength", 262144);
  EXPECT_EQ(as_text(writer.bytes()), "TargetName=iqn.a:b\0MaxBurstLength=262144\0"sv);
  EXPECT_EQ(writer.take().size(), 41u);
}

TEST(Text, CutAtEveryByteStillParsesOrFails) {
  const std::string_view whole = "Alpha=1\0Beta=22\0Gamma=333\0"sv;
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    const ErrorCode error = error_of(whole.substr(0, n));
    EXPECT_TRUE(!error || error == errc::bad_text) << n << error.message();
  }
}

TEST(Text, SplitterFillsAllButTheLast) {
  for (const std::size_t size : {0, 1, 511, 512, 513, 1024, 5000}) {
    const std::string text(size, 't');
    TextSplitter splitter(text);
    TextCollector collector(size);
    while (!splitter.done()) {
      const Bytes piece = splitter.next(512);
      EXPECT_EQ(piece.size(), splitter.done() ? (size - 1) % 512 + 1 : 512);
      EXPECT_TRUE(collector.add(piece));
    }
    EXPECT_EQ(as_text(collector.text()), text);
    EXPECT_TRUE(splitter.next(512).empty());
  }
}

TEST(Text, CollectorHasALimit) {
  TextCollector collector(10);
  EXPECT_TRUE(collector.add(as_bytes("12345")));
  EXPECT_EQ(collector.add(as_bytes("123456")).error(), errc::text_too_long);
  EXPECT_EQ(as_text(collector.text()), "12345");
  EXPECT_TRUE(collector.add(as_bytes("67890")));
  EXPECT_EQ(collector.add(as_bytes("x")).error(), errc::text_too_long);
  collector.clear();
  EXPECT_TRUE(collector.empty());
}

TEST(Text, AnyBytesParseOrFail) {
  std::mt19937 random(6);
  const std::string_view letters = "ab=\0=\xff-Z"sv;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t n = random() % 40; n > 0; --n) text += letters[random() % letters.size()];
    const ErrorCode error = error_of(text, 8);
    EXPECT_TRUE(!error || error == errc::bad_text || error == errc::bad_key_name ||
                error == errc::text_too_long);
  }
}

}  // namespace
}  // namespace openiser::iscsi
