// A queue pair in Full Operation with a raw peer, for the tests of rdmap/core.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "rdmap/errors.h"
#include "rdmap/iwarp.h"
#include "tests/support/raw_peer.h"

namespace openiser::rdmap::core_test {

using test::ByteVector;
using test::hex;
using test::noise;
using test::operator+;
using test::to_hex;
using Kind = Completion::Kind;

inline const std::string kRequestKey = "4d504120494420526571204672616d65";
inline const std::string kReplyKey = "4d504120494420526570204672616d65";

inline MpaSettings revision_1() {
  MpaSettings settings;
  settings.revision = 1;
  return settings;
}

class CoreTest : public ::testing::Test {
 protected:
  // We are the MPA initiator, the queue pair the responder; revision 1 with CRC, no markers.
  void open_responder(MpaSettings settings = revision_1()) {
    start(MpaRole::responder, std::move(settings));
    peer_->give(hex(kRequestKey + "40010000"));
    EXPECT_EQ(peer_->take_mpa_frame(), kReplyKey + "40010000");
    ASSERT_TRUE(client().how());
  }
  void open_initiator(MpaSettings settings = revision_1()) {
    start(MpaRole::initiator, std::move(settings));
    EXPECT_EQ(peer_->take_mpa_frame(), kRequestKey + "40010000");
    peer_->give(hex(kReplyKey + "40010000"));
    ASSERT_TRUE(client().how());
  }
  void start(MpaRole role, MpaSettings settings, Upgrade upgrade = {},
             MpaDecision decision = nullptr) {
    pair_ = make_iwarp_queue_pair(role, std::move(settings), clock_.now(), std::move(upgrade),
                                  std::move(decision));
    peer_.emplace(*pair_);
  }
  test::RecordingClient& client() { return peer_->client; }

  void receive(std::size_t size, WorkId id = 1) { pair_->post_receive(Buffer::allocate(size), id); }
  void send(Bytes bytes) {
    pair_->post_send(
        {.id = 1, .head = Buffer::copy_of(bytes), .body = {}, .invalidate = std::nullopt});
    pair_->flush();
  }
  // The queue pair has sent exactly this Terminate (hexadecimal, from the control word on), will
  // close, and says that `why` ended it.
  void expect_terminate(const std::string& terminate, ErrorCode why) {
    EXPECT_EQ(peer_->take_text(), "414700000000000000020000000100000000" + terminate + "\n");
    EXPECT_EQ(pair_->close_wish(), CloseWish::after_sending);
    pair_->transport_closed({}, clock_.now());
    ASSERT_TRUE(client().why());
    EXPECT_EQ(*client().why(), why);
  }
  // No Terminate: it just closes.
  void expect_closed(ErrorCode why, CloseWish wish) {
    EXPECT_EQ(peer_->take_text(), "");
    EXPECT_EQ(pair_->close_wish(), wish);
    pair_->transport_closed({}, clock_.now());
    ASSERT_TRUE(client().why());
    EXPECT_EQ(*client().why(), why);
  }

  ManualClock clock_;
  std::unique_ptr<IwarpQueuePair> pair_;
  std::optional<test::RawPeer> peer_;
};

// Headers in hexadecimal.
inline std::string be32_hex(std::uint32_t value) {
  std::array<std::byte, 4> bytes;
  store_be32(bytes.data(), value);
  return to_hex(bytes);
}
inline std::string be64_hex(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  store_be64(bytes.data(), value);
  return to_hex(bytes);
}
inline std::string write_header(Stag stag, std::uint64_t offset, bool last = true) {
  return (last ? "c140" : "8140") + be32_hex(stag.value) + be64_hex(offset);
}
inline std::string read_request(std::uint32_t msn, std::uint32_t size, Stag source,
                                std::uint64_t offset) {
  return "41410000000000000001" + be32_hex(msn) + "00000000" + "11223344" + be64_hex(0x1000) +
         be32_hex(size) + be32_hex(source.value) + be64_hex(offset);
}
inline std::string send_header(std::uint32_t msn, std::uint32_t offset = 0, bool last = true) {
  return (last ? "4143" : "0143") + std::string("0000000000000000") + be32_hex(msn) +
         be32_hex(offset);
}

class CoreReads : public CoreTest {
 protected:
  // The read's request is out; its sink STag and Tagged Offset, in hexadecimal.
  void request(std::size_t size) {
    open_initiator();
    ask(size, 1);
  }
  // The same on the open connection; `msn` counts the requests.
  void ask(std::size_t size, std::uint32_t msn) {
    pair_->post_read({.id = 9, .sink = Buffer::allocate(size), .source = {Stag{0x11111111}, 5}});
    pair_->flush();
    const auto ulpdus = peer_->take_ulpdus();
    ASSERT_EQ(ulpdus.size(), 1u);
    const std::string text = to_hex(ulpdus[0]);
    EXPECT_EQ(text.substr(0, 36), "41410000000000000001" + be32_hex(msn) + "00000000");
    EXPECT_EQ(text.substr(60),
              be32_hex(static_cast<std::uint32_t>(size)) + "111111110000000000000005");
    stag_ = text.substr(36, 8);
    offset_ = load_be64(ulpdus[0].data() + 22);
  }
  std::string response(std::uint64_t at, bool last) {
    return (last ? "c142" : "8142") + stag_ + be64_hex(offset_ + at);
  }
  std::string stag_;
  std::uint64_t offset_ = 0;
};

}  // namespace openiser::rdmap::core_test
