// NBD's requests and replies, against bytes written by hand after doc/proto.md.
#include "initiator/mount/nbd_protocol.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/bytes.h"

namespace openiser::initiator::nbd {
namespace {

using test::hex;

constexpr const char* kRead = "25609513 0000 0000 0102030405060708 0000000000001000 00000200";
constexpr const char* kWrite = "25609513 0001 0001 1112131415161718 0000000000000200 00000004";
constexpr const char* kZeroes = "25609513 0002 0006 2122232425262728 0000000000000000 ffffffff";
constexpr const char* kFlush = "25609513 0000 0003 3132333435363738 0000000000000000 00000000";
constexpr const char* kDisconnect = "25609513 0000 0002 0000000000000000 0000000000000000 00000000";

// Feeds a stream in pieces of at most `piece` bytes.
std::vector<Request> requests_in(Bytes stream, std::size_t piece) {
  RequestReader reader;
  std::vector<Request> all;
  while (!stream.empty()) {
    const MutableBytes room = reader.room();
    const std::size_t n = std::min({room.size(), stream.size(), piece});
    EXPECT_GT(n, 0u);
    std::copy_n(stream.begin(), n, room.begin());
    stream = stream.subspan(n);
    auto request = reader.received(n);
    if (!request) {
      ADD_FAILURE() << request.error().message();
      break;
    }
    if (*request) all.push_back(std::move(**request));
  }
  return all;
}

void expect_the_five(const std::vector<Request>& all) {
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].command, Command::read);
  EXPECT_EQ(all[0].flags, 0);
  EXPECT_EQ(all[0].cookie, 0x0102030405060708u);
  EXPECT_EQ(all[0].offset, 0x1000u);
  EXPECT_EQ(all[0].length, 0x200u);
  EXPECT_EQ(all[1].command, Command::write);
  EXPECT_EQ(all[1].flags, kForceUnitAccess);
  EXPECT_EQ(all[1].cookie, 0x1112131415161718u);
  EXPECT_TRUE(std::ranges::equal(all[1].data.bytes(), hex("deadbeef")));
  EXPECT_EQ(all[2].command, Command::write_zeroes);
  EXPECT_EQ(all[2].flags, kNoHole);
  EXPECT_EQ(all[2].length, 0xffffffffu);
  EXPECT_TRUE(all[2].data.empty());
  EXPECT_EQ(all[3].command, Command::flush);
  EXPECT_EQ(all[4].command, Command::disconnect);
}

TEST(NbdRequests, CutAnywhere) {
  const auto stream =
      hex(std::string(kRead) + kWrite + "deadbeef" + kZeroes + kFlush + kDisconnect);
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    SCOPED_TRACE(piece);
    expect_the_five(requests_in(stream, piece));
  }
}

TEST(NbdRequests, CutOnceAtEveryByte) {
  const auto stream = hex(std::string(kWrite) + "deadbeef");
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    RequestReader reader;
    std::size_t fed = 0;
    const auto feed_to = [&](std::size_t end) {
      std::optional<Request> seen;
      while (fed < end) {
        const std::size_t n = std::min(reader.room().size(), end - fed);
        std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(fed), n, reader.room().begin());
        fed += n;
        seen = std::move(*reader.received(n));
      }
      return seen;
    };
    EXPECT_FALSE(feed_to(cut)) << cut;
    const auto request = feed_to(stream.size());
    ASSERT_TRUE(request) << cut;
    EXPECT_TRUE(std::ranges::equal(request->data.bytes(), hex("deadbeef"))) << cut;
  }
}

TEST(NbdRequests, AWriteOfNothingHasNoPayload) {
  const auto all = requests_in(
      hex(std::string("25609513 0000 0001 0000000000000001 0000000000000000 00000000") + kFlush),
      28);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].data.empty());
}

TEST(NbdRequests, UnknownCommandsAreHandedOn) {
  const auto all =
      requests_in(hex("25609513 0000 0007 0000000000000001 0000000000000000 ffffffff"), 28);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(static_cast<int>(all[0].command), 7);
}

ErrorCode error_of(const std::string& header) {
  RequestReader reader;
  const auto bytes = hex(header);
  std::copy(bytes.begin(), bytes.end(), reader.room().begin());
  const auto result = reader.received(bytes.size());
  return result ? ErrorCode() : result.error();
}

TEST(NbdRequests, OutOfStepAtAnyBitOfTheMagic) {
  for (int bit = 0; bit < 32; ++bit) {
    auto bytes = hex(kRead);
    bytes[static_cast<std::size_t>(bit / 8)] ^= static_cast<std::byte>(1 << bit % 8);
    RequestReader reader;
    std::copy(bytes.begin(), bytes.end(), reader.room().begin());
    EXPECT_FALSE(reader.received(bytes.size())) << bit;
  }
}

TEST(NbdRequests, PayloadIsLimited) {
  const std::string fields = " 0000000000000001 0000000000000000 ";
  for (const std::string command : {"0000", "0001"}) {
    const std::string start = "25609513 0000 " + command + fields;
    EXPECT_FALSE(error_of(start + "02000000"));
    EXPECT_TRUE(error_of(start + "02000001"));
    EXPECT_TRUE(error_of(start + "ffffffff"));
  }
}

TEST(NbdReplies, AreSimple) {
  EXPECT_TRUE(std::ranges::equal(encode_reply(0x0102030405060708u, {}),
                                 hex("67446698 00000000 0102030405060708")));
  const auto full = make_error_code(boost::system::errc::no_space_on_device);
  EXPECT_TRUE(
      std::ranges::equal(encode_reply(~0ull, full), hex("67446698 0000001c ffffffffffffffff")));
}

TEST(NbdReplies, KnowOnlyTheProtocolsErrors) {
  namespace errc = boost::system::errc;
  EXPECT_EQ(wire_error(make_error_code(errc::not_enough_memory)), 12u);
  EXPECT_EQ(wire_error(make_error_code(errc::invalid_argument)), 22u);
  EXPECT_EQ(wire_error(make_error_code(errc::operation_not_supported)), 95u);
  EXPECT_EQ(wire_error(make_error_code(errc::read_only_file_system)), 1u);
  EXPECT_EQ(wire_error(make_error_code(errc::host_unreachable)), 5u);
}

TEST(NbdFlags, SayWhatTheDeviceHas) {
  BlockDeviceProperties device;
  EXPECT_EQ(transmission_flags(device), kHasFlags);
  device.force_unit_access = true;  // means nothing where there is no cache
  EXPECT_EQ(transmission_flags(device), kHasFlags);
  device.write_cache = true;
  EXPECT_EQ(transmission_flags(device), kHasFlags | kSendFlush | kSendForceUnitAccess);
  device.force_unit_access = false;
  device.unmap = device.write_same = true;
  EXPECT_EQ(transmission_flags(device), kHasFlags | kSendFlush | kSendTrim | kSendWriteZeroes);
  device.read_only = true;
  EXPECT_EQ(transmission_flags(device), kHasFlags | kReadOnly);
}

}  // namespace
}  // namespace openiser::initiator::nbd
