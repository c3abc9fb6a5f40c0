#include "target/wire_detector.h"

#include <gtest/gtest.h>

#include <vector>

#include "iscsi/errors.h"

namespace openiser::target {
namespace {

constexpr std::string_view kMpaRequest = "MPA ID Req Frame";

class WireDetectorTest : public ::testing::Test, public WireDetector::Client {
 protected:
  void wire_detected(Wire wire) override { detected.push_back(wire); }
  void wire_unknown(ErrorCode why) override { unknown.push_back(why); }

  // Offers `bytes` in steps of `step`, as far as the detector takes them; returns how many it took.
  std::size_t feed(std::string_view bytes, std::size_t step) {
    std::size_t taken = 0;
    while (taken < bytes.size()) {
      MutableBytes space;
      if (detector.receive_space({&space, 1}) == 0) break;
      const std::size_t n = std::min({step, space.size(), bytes.size() - taken});
      std::memcpy(space.data(), bytes.data() + taken, n);
      detector.received(n, Time());
      taken += n;
    }
    return taken;
  }

  const Time deadline{std::chrono::hours(2)};
  WireDetector detector{*this, deadline};
  std::vector<Wire> detected;
  std::vector<ErrorCode> unknown;
};

TEST_F(WireDetectorTest, ALoginRequestIsTheStream) {
  for (const char first : {'\x43', '\x03'}) {
    const std::byte byte{static_cast<unsigned char>(first)};
    EXPECT_EQ(detect_wire({&byte, 1}).value(), Wire::stream);
  }
}

TEST_F(WireDetectorTest, AnMpaRequestInAnyNumberOfPieces) {
  for (std::size_t cut = 1; cut < kMpaRequest.size(); ++cut) {
    EXPECT_EQ(detect_wire(as_bytes(kMpaRequest.substr(0, cut))).value(), std::nullopt) << cut;
  }
  EXPECT_EQ(detect_wire(as_bytes(kMpaRequest)).value(), Wire::rdma_first);
  EXPECT_EQ(feed(kMpaRequest, 1), kMpaRequest.size());
  EXPECT_EQ(detected, std::vector{Wire::rdma_first});
}

TEST_F(WireDetectorTest, AStrangerIsRefusedAtTheFirstByteThatIsWrong) {
  EXPECT_EQ(detect_wire(as_bytes("GET / HTTP/1.1")).error(), iscsi::errc::wrong_opcode);
  for (std::size_t i = 0; i < kMpaRequest.size(); ++i) {
    std::string bytes(kMpaRequest.substr(0, i + 1));
    bytes.back() = static_cast<char>(bytes.back() ^ 0x80);
    EXPECT_EQ(detect_wire(as_bytes(bytes)).error(), iscsi::errc::wrong_opcode) << i;
  }
  EXPECT_EQ(feed("MPA ID Rep Frame", 16), 16u);
  EXPECT_EQ(unknown, std::vector{make_error_code(iscsi::errc::wrong_opcode)});
  EXPECT_EQ(detector.close_wish(), CloseWish::at_once);
}

TEST_F(WireDetectorTest, EveryOtherFirstByteIsRefused) {
  for (unsigned value = 0; value < 256; ++value) {
    if (value == 0x03 || value == 0x43 || value == 'M') continue;
    const std::byte byte{static_cast<unsigned char>(value)};
    EXPECT_FALSE(detect_wire({&byte, 1})) << value;
  }
}

TEST_F(WireDetectorTest, TakesNoMoreThanItNeedsAndHandsItOver) {
  const std::string bytes = "\x43" + std::string(99, 'x');
  EXPECT_EQ(feed(bytes, 100), 16u);
  EXPECT_EQ(as_text(detector.start()), bytes.substr(0, 16));
  EXPECT_EQ(detected, std::vector{Wire::stream});
  EXPECT_EQ(detector.close_wish(), CloseWish::none);
}

TEST_F(WireDetectorTest, GivesUpAtTheDeadline) {
  feed("MPA ID", 6);
  EXPECT_EQ(detector.deadline(), deadline);
  detector.expired(deadline);
  EXPECT_EQ(unknown, std::vector{make_error_code(iscsi::errc::login_timeout)});
  EXPECT_EQ(detector.close_wish(), CloseWish::at_once);
  EXPECT_EQ(detector.deadline(), std::nullopt);
}

TEST_F(WireDetectorTest, TellsOfAnEndBeforeItKnows) {
  detector.transport_closed({}, Time());
  EXPECT_EQ(unknown, std::vector{make_error_code(iscsi::errc::connection_closed)});
}

TEST_F(WireDetectorTest, AnEndAfterDetectionIsForWhoComesNext) {
  feed("\x43", 1);
  detector.transport_closed({}, Time());
  EXPECT_TRUE(unknown.empty());
  EXPECT_EQ(detector.deadline(), std::nullopt);
}

}  // namespace
}  // namespace openiser::target
