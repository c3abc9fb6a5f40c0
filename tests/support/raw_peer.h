// The other end of an iWARP connection under a test's control: gives a queue pair any bytes it
// likes, in pieces of any size, and takes apart what comes back, by means that share nothing with
// the code under test. No markers in what it takes apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "rdmap/iwarp.h"
#include "tests/support/bytes.h"
#include "tests/support/rcap_client.h"
#include "tests/support/slow_fpdu.h"

namespace openiser::test {

class RawPeer final : public StreamHost {
 public:
  // `pair` is attached and heard by `client` from now on.
  explicit RawPeer(rdmap::IwarpQueuePair& pair, bool crc = true, bool markers = false)
      : client(pair), pair_(pair), framer_(crc, markers) {
    pair.attach(this);
  }
  ~RawPeer() { pair_.attach(nullptr); }
  void attention() override {}

  // As many bytes at a time as `chunk` and the queue pair's own places allow.
  void give(Bytes bytes, std::size_t chunk = SIZE_MAX) {
    while (!bytes.empty()) {
      std::array<MutableBytes, 8> places;
      const std::size_t count = pair_.receive_space(places);
      ASSERT_GT(count, 0u);
      std::size_t given = 0;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_FALSE(places[i].empty());
        const std::size_t n = std::min({places[i].size(), bytes.size() - given, chunk - given});
        std::ranges::copy(bytes.subspan(given, n), places[i].begin());
        given += n;
      }
      bytes = bytes.subspan(given);
      pair_.received(given, clock.now());
    }
  }
  // One FPDU, the ULPDU in hexadecimal or as bytes.
  ByteVector fpdu(const ByteVector& ulpdu) {
    const std::size_t before = framer_.stream.size();
    framer_.add(ulpdu);
    return {framer_.stream.begin() + static_cast<std::ptrdiff_t>(before), framer_.stream.end()};
  }
  void give_fpdu(const ByteVector& ulpdu) { give(fpdu(ulpdu)); }
  void give_fpdu(const std::string& ulpdu) { give_fpdu(hex(ulpdu)); }

  // Everything the queue pair wants to send now.
  void take() {
    std::array<Bytes, 16> pieces;
    while (const std::size_t count = pair_.gather(pieces)) {
      std::size_t taken = 0;
      for (std::size_t i = 0; i < count; ++i) {
        stream.insert(stream.end(), pieces[i].begin(), pieces[i].end());
        taken += pieces[i].size();
      }
      pair_.sent(taken, clock.now());
    }
  }
  // The MPA frame at the start of what was taken; the rest stays.
  std::string take_mpa_frame() {
    take();
    if (stream.size() < 20) return {};
    const std::size_t size =
        20 + (static_cast<std::size_t>(stream[18]) << 8 | static_cast<std::size_t>(stream[19]));
    const std::string frame = to_hex(Bytes(stream).first(std::min(size, stream.size())));
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(frame.size() / 2));
    return frame;
  }
  // The ULPDUs of the FPDUs taken since the last call; each must be whole and have a good CRC.
  std::vector<ByteVector> take_ulpdus() {
    take();
    std::vector<ByteVector> ulpdus;
    std::size_t at = 0;
    while (at < stream.size()) {
      const std::size_t size =
          static_cast<std::size_t>(stream[at]) << 8 | static_cast<std::size_t>(stream.at(at + 1));
      const std::size_t covered = (2 + size + 3) / 4 * 4;
      EXPECT_LE(at + covered + 4, stream.size()) << "an FPDU is cut short";
      if (at + covered + 4 > stream.size()) break;
      const Bytes whole = Bytes(stream).subspan(at, covered + 4);
      EXPECT_EQ(load_le32(whole.data() + covered), slow_crc32c(whole.first(covered)));
      ulpdus.emplace_back(whole.begin() + 2, whole.begin() + 2 + static_cast<std::ptrdiff_t>(size));
      at += covered + 4;
    }
    stream.clear();
    return ulpdus;
  }
  // The same in hexadecimal, one line an ULPDU.
  std::string take_text() {
    std::string text;
    for (const ByteVector& ulpdu : take_ulpdus()) text += to_hex(ulpdu) + "\n";
    return text;
  }

  RecordingClient client;
  ManualClock clock;
  ByteVector stream;

 private:
  rdmap::IwarpQueuePair& pair_;
  SlowFramer framer_;
};

}  // namespace openiser::test
